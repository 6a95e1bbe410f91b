# Compiles a file that must not compile, and looks for the sentence that its first lines promise:
#   // expected: TEXT        what the compiler must say (a plain text)
#   // flags: -ffast-math    further compiler options (optional)
#   cmake -DCOMPILER=... -DSOURCE=... -DINCLUDES=...;... -P run.cmake
file(STRINGS ${SOURCE} expected REGEX "^// expected: ")
file(STRINGS ${SOURCE} flags REGEX "^// flags: ")
string(REPLACE "// expected: " "" expected "${expected}")
string(REPLACE "// flags: " "" flags "${flags}")
separate_arguments(flags)
list(TRANSFORM INCLUDES PREPEND -I)

execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only ${flags} ${INCLUDES} ${SOURCE}
                RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
    message(FATAL_ERROR "${SOURCE} compiles")
endif()
string(FIND "${output}" "${expected}" at)
if(expected STREQUAL "" OR at EQUAL -1)
    message(FATAL_ERROR "expected: ${expected}\nfound: ${output}")
endif()
