# Tests: how each is started, and in which build it runs. docs/testing.md has the table.
#
# A test has one of these labels, and tools/test.sh runs it once:
#   unit, integration   what is compiled and run with sanitizers
#   shipped             what proves the build that people get: programs as they are, figures, and what
#                       waits for leases and outages, of which sanitizers see nothing
#   planted             a broken core that the simulation has to catch
# And `threads` beside `unit`, where the thread sanitizer looks on as well.

include_guard(GLOBAL)

find_package(Python3 COMPONENTS Interpreter REQUIRED)

# What to build before `ctest -L LABEL`, and nothing else.
foreach(label unit integration shipped threads planted)
  add_custom_target(tensorhub_${label})
endforeach()

# tensorhub_add_test(NAME COMMAND … LABELS … [TIMEOUT s] [PROCESSORS n] [ENV VAR=value …] [SKIPS]
#                    [BUILT target …])
# PROCESSORS: how many of the tests that may run at once it counts for, 1 if it mostly waits. SKIPS: it
# ends with 77 where it cannot be run, and says why. BUILT: what it is made of.
function(tensorhub_add_test name)
  cmake_parse_arguments(ARG "SKIPS" "TIMEOUT;PROCESSORS" "COMMAND;LABELS;ENV;BUILT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(TENSORHUB_SANITIZE OR CMAKE_CROSSCOMPILING)
    # What sanitizers cost, or an emulator, on a slow machine.
    math(EXPR ARG_TIMEOUT "5 * ${ARG_TIMEOUT}")
  endif()
  if(NOT ARG_PROCESSORS)
    set(ARG_PROCESSORS 1)
  endif()
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} -B -S -E ${PROJECT_SOURCE_DIR}/tests/launch.py ${name}
                                ${ARG_COMMAND})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
                       COST ${ARG_TIMEOUT} PROCESSORS ${ARG_PROCESSORS} ENVIRONMENT "UCX_ERROR_SIGNALS=;${ARG_ENV}")
  if(ARG_SKIPS)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
  foreach(label IN LISTS ARG_LABELS)
    if(TARGET tensorhub_${label} AND ARG_BUILT)
      add_dependencies(tensorhub_${label} ${ARG_BUILT})
    endif()
  endforeach()
endfunction()

# tensorhub_test(NAME SOURCES … DEPS … [LABELS …] [TIMEOUT s] [PROCESSORS n] [ENV VAR=value …]
#                [RUNS target …]): a GoogleTest program, and the programs that it runs.
function(tensorhub_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT;PROCESSORS" "SOURCES;DEPS;LABELS;ENV;RUNS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  tensorhub_warnings(${name})
  # What is tested is optimised; the tests' own code is run once.
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${name} PRIVATE -O1)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  if(ARG_RUNS)
    add_dependencies(${name} ${ARG_RUNS})
  endif()
  # UCX's hooks of the memory functions run in threads that the sanitizer has taken leave of.
  if(TENSORHUB_SANITIZE STREQUAL "thread")
    list(APPEND ARG_ENV "UCX_MEM_MMAP_HOOK_MODE=none")
  endif()
  tensorhub_add_test(${name} COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${name}> LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT}
                     PROCESSORS ${ARG_PROCESSORS} ENV ${ARG_ENV} BUILT ${name})
endfunction()

# tensorhub_script_test(NAME SCRIPT [WORDS …] LABELS … RUNS target … [TIMEOUT s] [PROCESSORS n]
#                       [ENV VAR=value …] [SKIPS]): a script in Python, whose last word is the folder of
# the programs that it runs.
function(tensorhub_script_test name script)
  cmake_parse_arguments(ARG "SKIPS" "TIMEOUT;PROCESSORS" "WORDS;LABELS;ENV;RUNS" ${ARGN})
  set(skips "")
  if(ARG_SKIPS)
    set(skips SKIPS)
  endif()
  tensorhub_add_test(${name} ${skips}
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARG_WORDS}
            ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
    LABELS ${ARG_LABELS} TIMEOUT ${ARG_TIMEOUT} PROCESSORS ${ARG_PROCESSORS} ENV ${ARG_ENV}
    BUILT ${ARG_RUNS})
endfunction()
