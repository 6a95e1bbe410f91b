#include "l3/tokenizer/chat_template/outline.hpp"
#include <doctest/doctest.h>

using l3::tokenizer::TemplateOutline;

namespace {
std::string outline(std::string_view jinja) { return TemplateOutline::of(jinja).value_or("malformed"); }
}  // namespace

TEST_CASE("ways of writing the same have one outline") {
    const std::string expected =
        "{%for message in messages%}<a>{{message.role}}\n{{message.content|trim}}</a>{%endfor%}";
    CHECK(outline(
              "{% for message in messages %}{{ '<a>' + message['role'] + '\\n' + message['content'] | trim + '</a>' }}"
              "{% endfor %}") == expected);
    CHECK(
        outline(
            "{%- for  message in\nmessages -%}\n  {{- \"<a>\" ~ message.role ~ \"\n\" -}}  {{message.content|trim}}</a>"
            "{#- a {{ comment }} -#}\n {%- endfor %}") == expected);
    CHECK(outline("{% for message in messages %}\n<a>{{ message.role }}\n{{ message[\"content\"] | trim }}</a>"
                  "{% endfor %}") == expected);
}

TEST_CASE("white space goes and stays as Jinja has it with trim_blocks and lstrip_blocks") {
    CHECK(outline("a\n{% x %}\n\nb") == "a\n{%x%}\nb");  // the first newline after a statement
    CHECK(outline("a\n  \t{% x %}b") == "a\n{%x%}b");    // what is before it on its line
    CHECK(outline("  {% x %}\n  {% y %}") == "{%x%}{%y%}");
    CHECK(outline("a  {% x %}  {% y %}b") == "a  {%x%}  {%y%}b");  // but not after something else
    CHECK(outline("a\n  {{ x }}\nb") == "a\n  {{x}}\nb");          // nothing around an expression
    CHECK(outline("a \n {{- x -}} \n b") == "a{{x}}b");
    CHECK(outline("a\n  {%+ x +%}\nb") == "a\n  {%x%}\nb");
    CHECK(outline("a\n {# c #}\nb") == "a\nb");
    CHECK(outline("a\r\nb\rc\n") == "a\nb\nc");  // one newline at the end goes
    CHECK(outline("{{ x }}\n\n") == "{{x}}\n");
}

TEST_CASE("only sums of terms are taken apart") {
    CHECK(outline("{{ 'a' + f(1 + 2) + b[0]['c d'] }}") == "a{{f(1+2)}}{{b[0]['c d']}}");
    CHECK(outline("{{ 'a' + b if c else 'd' }}") == "{{'a'+b if c else 'd'}}");
    CHECK(outline("{{ 'a' + 'b' == c }}") == "{{'a'+'b'==c}}");
    CHECK(outline("{% set a='it\\'s ' + \"\\n\" %}") == "{%set a='it\\'s '+'\\n'%}");
    CHECK(outline("{% if 'a' in ['role'] %}") == "{%if 'a' in['role']%}");
    CHECK(outline("{{ '%}' + \"}}\" }}") == "%}}}");
}

TEST_CASE("what is no template has no outline") {
    for (const char* text : {"{{ a", "{% a", "{# a", "{{ 'a }}", "{{ 'a\\", "{{ '\\x41' }}", "{", "{{", "{%-"})
        CHECK_MESSAGE(outline(text) == (std::string_view(text) == "{" ? "{" : "malformed"), text);
    CHECK(outline("") == "");
    CHECK(outline("{}") == "{}");
}
