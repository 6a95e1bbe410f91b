# Builds and runs one consumer project.
#   cmake -DKIND=find_package -DSOURCE=... -DBUILD=... -DWORK=... -DGENERATOR=... -DCOMPILER=... -P run.cmake
# SOURCE: l3's root; BUILD: its build folder, for installing; WORK: a folder for this test alone.
function(run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    message("${output}")
    if(NOT status EQUAL 0)
        list(JOIN ARGV " " command)
        message(FATAL_ERROR "failed (${status}): ${command}")
    endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
set(options -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
            -DL3_SOURCE=${SOURCE} -DFETCHCONTENT_FULLY_DISCONNECTED=ON)
if(KIND STREQUAL "find_package" OR KIND STREQUAL "tensor_only")
    # Installed, then moved: nothing in the package may remember where it was.
    run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
    file(RENAME ${WORK}/first ${WORK}/moved)
    list(APPEND options -DCMAKE_PREFIX_PATH=${WORK}/moved)
endif()

run(${CMAKE_COMMAND} -S ${SOURCE}/tests/package/${KIND} -B ${WORK}/build ${options} -DCMAKE_CXX_FLAGS=-Wall\ -Werror)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
