# Finds the 8-bit PCRE2 library (headers and libpcre2-8) and makes the target PCRE2::8BIT, the name that PCRE2's own
# CMake package uses. Installed together with l3, since Debian's PCRE2 comes without a CMake package.
if(NOT TARGET PCRE2::8BIT)
    find_path(PCRE2_INCLUDE_DIR pcre2.h)
    find_library(PCRE2_8BIT_LIBRARY NAMES pcre2-8 pcre2-8-static)
    mark_as_advanced(PCRE2_INCLUDE_DIR PCRE2_8BIT_LIBRARY)

    if(PCRE2_INCLUDE_DIR)
        file(STRINGS ${PCRE2_INCLUDE_DIR}/pcre2.h l3_pcre2_version REGEX "^#define PCRE2_(MAJOR|MINOR) ")
        string(REGEX REPLACE "#define PCRE2_(MAJOR|MINOR) +([0-9]+)" "\\2" l3_pcre2_version "${l3_pcre2_version}")
        list(JOIN l3_pcre2_version "." PCRE2_VERSION)
        unset(l3_pcre2_version)
    endif()

    include(FindPackageHandleStandardArgs)
    find_package_handle_standard_args(PCRE2 REQUIRED_VARS PCRE2_8BIT_LIBRARY PCRE2_INCLUDE_DIR VERSION_VAR PCRE2_VERSION)

    if(PCRE2_FOUND)
        add_library(PCRE2::8BIT UNKNOWN IMPORTED)
        set_target_properties(PCRE2::8BIT PROPERTIES IMPORTED_LOCATION ${PCRE2_8BIT_LIBRARY}
                              INTERFACE_INCLUDE_DIRECTORIES ${PCRE2_INCLUDE_DIR})
    endif()
else()
    set(PCRE2_FOUND TRUE)
endif()
