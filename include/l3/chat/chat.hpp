#pragma once
#include "../session/generate.hpp"
#include "../tokenizer/chat_template.hpp"

namespace l3::inline v0 {

struct ChatOptions {
    std::optional<std::string> system{};  // the first message; default: what the template states itself, if anything
    std::string format{};                 // instead of the model's template: "chatml", "llama3", "llama3.1", "llama2"
    std::string date{};                   // that Llama 3.1's format states, as "26 Jul 2024"; see ChatTemplate::date
    SessionOptions session{};
};

/// A conversation with a model: M is Model<T, D> or AnyModel. The history is kept as ids where the model wrote it, so
/// its own words are never encoded again, and whatever verb changes the history, only what follows the first changed
/// token is evaluated. Message text is only text: special tokens in it are not parsed.
///
/// reply, edit and regenerate return a range of pieces (Generation), whose result() has the counts: prompt_tokens are
/// all ids before the first generated one. Their text is encoded at once, and what can be wrong with it is thrown
/// before anything changes; the model works while the range is stepped through. Once they have returned, the turn is in
/// the history, with what was generated until the range ended, was left, or threw; the next verb closes it. The range
/// may outlive the chat. One caller at a time; any number of chats of one model from any threads.
template <class M>
class Chat {
  public:
    using Reply = Generation<M>;

    /// Throws UnsupportedError, naming the choices, if the model's template is none of the known ones; what
    /// model.tokenizer() throws; ArgumentError for options that cannot be meant; OutOfMemoryError.
    explicit Chat(M model, const ChatOptions& options = {})
        : template_(choose_template(model, options)),
          session_(std::make_shared<Session<M>>(std::move(model), options.session)) {
        if (!options.date.empty()) template_.set_date(options.date);
        if (options.system) turns_.push_back({{"system", *options.system}, {}});
    }
    Chat(Chat&&) noexcept = default;
    Chat& operator=(Chat&&) noexcept = default;

    /// Adds a user message and answers it. Throws, changing nothing, ContextFullError and ArgumentError.
    [[nodiscard]] Reply reply(std::string_view text, GenerateOptions options = {}) {
        std::vector<Turn> turns = closed();
        turns.push_back({{"user", std::string(text)}, {}});
        return answer(std::move(turns), std::move(options));
    }

    /// Replaces the n-th user message, from 1, drops what follows, and answers it. Throws as reply, and if there is
    /// none.
    [[nodiscard]] Reply edit(int n, std::string_view text, GenerateOptions options = {}) {
        std::vector<Turn> turns = closed();
        const std::size_t at = user_message(turns, n);
        turns.resize(at);
        turns.push_back({{"user", std::string(text)}, {}});
        return answer(std::move(turns), std::move(options));
    }

    /// Answers the last user message, again or for the first time: what follows it is dropped. The prompt is there, so
    /// one token at most is evaluated. Throws as reply, and if there is no user message.
    [[nodiscard]] Reply regenerate(GenerateOptions options = {}) {
        std::vector<Turn> turns = closed();
        turns.resize(last_user_message(turns) + 1);
        return answer(std::move(turns), std::move(options));
    }

    /// Changes the n-th message of any role, from 1, and keeps what follows. Throws ArgumentError if there is none.
    void replace(int n, std::string_view text) {
        std::vector<Turn>& turns = closed();
        require<ArgumentError>(n >= 1 && std::size_t(n) <= turns.size(), "no message ", n, ": there are ",
                               turns.size());
        Turn changed{{turns[std::size_t(n) - 1].message.role, std::string(text)}, {}};
        turns[std::size_t(n) - 1] = std::move(changed);
    }

    /// Removes the last user message and what follows it. Throws ArgumentError if there is none.
    void undo() {
        std::vector<Turn>& turns = closed();
        turns.resize(last_user_message(turns));
    }

    /// Takes a whole list of messages for the history, as a front end has it; regenerate() then answers it. Assistant
    /// messages whose text is one of the model's replies so far are these replies, to the id. Throws nothing of its
    /// own: a list that the template does not take is an error when it is answered.
    void sync(std::span<const Message> messages) {
        const std::vector<Turn>& before = closed();
        std::vector<Turn> turns;
        for (const Message& message : messages) {
            turns.push_back({message, {}});
            if (message.role != "assistant") continue;
            const auto is_it = [&](const Turn& turn) {
                return turn.ids && same_text(turn.message.content, message.content);
            };
            const std::size_t here = turns.size() - 1;
            if (here < before.size() && is_it(before[here])) turns.back().ids = before[here].ids;
            else if (const auto it = std::find_if(before.begin(), before.end(), is_it); it != before.end())
                turns.back().ids = it->ids;
        }
        turns_ = std::move(turns);
    }

    /// The history, with what has been generated of the last reply.
    [[nodiscard]] std::vector<Message> messages() const {
        std::vector<Message> messages;
        for (const Turn& turn : turns_) messages.push_back(turn.message);
        if (active_) messages.back().content = active_->result.text;
        return messages;
    }

    /// The ids that a reply to the history as it is would be given.
    [[nodiscard]] std::vector<Token> prompt_ids() { return ids_of(closed()); }

    [[nodiscard]] const Session<M>& session() const { return *session_; }
    [[nodiscard]] const ChatTemplate& chat_template() const { return template_; }

  private:
    struct Turn {
        Message message;
        std::optional<std::vector<Token>> ids;  // what the model wrote, if it did
    };

    static ChatTemplate choose_template(const M& model, const ChatOptions& options) {
        const auto& tokenizer = model.tokenizer();
        std::string bos(tokenizer.bos() ? tokenizer.piece(*tokenizer.bos()) : "");
        std::string eos(tokenizer.end_ids().empty() ? "" : tokenizer.piece(tokenizer.end_ids()[0]));
        if (!options.format.empty()) return ChatTemplate::named(options.format, std::move(bos), std::move(eos));
        require<UnsupportedError>(!tokenizer.chat_template().empty(),
                                  "the model has no chat template; ChatOptions::format can name one of ",
                                  ChatTemplate::choices());
        return ChatTemplate::from_text(tokenizer.chat_template(), std::move(bos), std::move(eos));
    }

    /// The history, after the reply being generated, if any, was ended and taken into it.
    std::vector<Turn>& closed() {
        if (active_) {
            if (!active_->finished) active_->finish("cancelled");
            std::vector<Token> ids = active_->kept();
            turns_.back().message.content = active_->result.text;
            turns_.back().ids = std::move(ids);
            active_ = nullptr;
        }
        return turns_;
    }

    static std::size_t user_message(const std::vector<Turn>& turns, int n) {
        int count = 0;
        for (std::size_t i = 0; i < turns.size(); ++i)
            if (turns[i].message.role == "user" && ++count == n) return i;
        fail<ArgumentError>("no user message ", n, ": there are ", count);
    }
    static std::size_t last_user_message(const std::vector<Turn>& turns) {
        for (std::size_t i = turns.size(); i-- > 0;)
            if (turns[i].message.role == "user") return i;
        fail<ArgumentError>("there is no user message");
    }

    bool same_text(std::string_view a, std::string_view b) const {
        return a == b || (template_.trims() && ChatTemplate::trimmed(a) == ChatTemplate::trimmed(b));
    }

    Reply answer(std::vector<Turn> turns, GenerateOptions options) {
        for (const std::string& text : template_.end_texts()) {
            if (text.empty()) continue;  // there is no end token
            const auto& tokenizer = session_->model().tokenizer();
            if (const auto id = tokenizer.token_id(text)) options.end_ids.push_back(*id);
            else options.stop.push_back(text);  // of a model that has to spell it
        }
        Reply reply(session_, ids_of(turns), std::move(options), true);
        turns.push_back({{"assistant", ""}, std::vector<Token>()});
        turns_ = std::move(turns);
        active_ = reply.state_;
        return reply;
    }

    /// The prompt for a reply to this history: the template's segments encoded, the model's own messages as they are.
    [[nodiscard]] std::vector<Token> ids_of(const std::vector<Turn>& turns) const {
        std::vector<Message> messages;
        for (const Turn& turn : turns) messages.push_back(turn.message);
        const auto& tokenizer = session_->model().tokenizer();
        std::vector<Token> ids;
        std::vector<Segment> waiting;
        const auto encode = [&] {
            const bool first = ids.empty();
            const std::vector<Token> more = tokenizer.encode(
                std::span<const Segment>(waiting), {.add_bos = first && tokenizer.add_bos(), .add_prefix = first});
            ids.insert(ids.end(), more.begin(), more.end());
            waiting.clear();
        };
        for (Segment& segment : template_.render(messages, true)) {
            if (segment.message < 0 || !turns[std::size_t(segment.message)].ids) {
                waiting.push_back(std::move(segment));
                continue;
            }
            encode();
            const std::vector<Token>& own = *turns[std::size_t(segment.message)].ids;
            ids.insert(ids.end(), own.begin(), own.end());
        }
        encode();
        return ids;
    }

    ChatTemplate template_;
    std::shared_ptr<Session<M>> session_;
    std::vector<Turn> turns_;
    std::shared_ptr<typename Reply::State> active_;  // the reply that the last turn is of, until the next verb
};

}  // namespace l3::inline v0
