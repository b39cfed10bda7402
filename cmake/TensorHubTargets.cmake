# One function per kind of target. Every target gets the same language level and warnings.

include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(THREADS_PREFER_PTHREAD_FLAG ON)
# Whoever adds this folder to a project links what the public targets name.
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON)
find_package(Threads REQUIRED)

# A rebuild of the same sources costs seconds instead of minutes.
find_program(TENSORHUB_CCACHE ccache)
if(TENSORHUB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The second word: precompiled headers, which hold no macros of the time.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros ${TENSORHUB_CCACHE})
endif()

# bfd, the default, takes three times as long for a program with gRPC.
find_program(TENSORHUB_LLD ld.lld)
if(TENSORHUB_LLD AND PROJECT_IS_TOP_LEVEL)
  add_link_options(-fuse-ld=lld)
endif()

if(TENSORHUB_SANITIZE)
  # A finding ends the program: the undefined-behaviour sanitizer only talks otherwise.
  add_compile_options(-fsanitize=${TENSORHUB_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TENSORHUB_SANITIZE})
  add_compile_definitions(TENSORHUB_SANITIZED)
endif()

# A folder that a checkout may lack.
function(tensorhub_optional_subdirectory folder)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    add_subdirectory(${folder})
  endif()
endfunction()

function(tensorhub_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor)
  if(PROJECT_IS_TOP_LEVEL)  # others build with compilers that nobody here has seen
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # g++'s -Wconversion leaves signs out in C++; both compilers hold the code to the same.
    target_compile_options(${target} PRIVATE -Wthread-safety -Wno-sign-conversion)
  else()
    # Wrong in g++ 12: the unused half of std::optional and std::variant counts as uninitialised,
    # and `"text" + string` as an overlapping copy.
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-restrict)
  endif()
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE TENSORHUB_VERSION="${PROJECT_VERSION}")
endfunction()

# tensorhub_library(NAME SOURCES … DEPS …)
function(tensorhub_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  tensorhub_warnings(${name})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} Threads::Threads)
endfunction()

# tensorhub_hot(NAME…): what tests run millions of times is optimised in sanitizer builds, too, where
# all else takes longer to be compiled than to run.
function(tensorhub_hot)
  if(TENSORHUB_SANITIZE)
    foreach(name IN LISTS ARGN)
      target_compile_options(${name} PRIVATE -O1)
    endforeach()
  endif()
endfunction()

# tensorhub_precompiled(NAME HEADER): what every source of this library includes is parsed once. It pays
# where there are many sources. The presets that compile each source by itself leave it out, so that
# they see an include that is missing.
function(tensorhub_precompiled name header)
  target_precompile_headers(${name} PRIVATE ${PROJECT_SOURCE_DIR}/${header})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    # ccache brings back a header that was made of sources with other times.
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    # Wrong in g++ 12 for strings in variants. It says so of its own headers, too, once they are in it.
    target_compile_options(${name} PRIVATE -Wno-array-bounds -Wno-stringop-overflow
                           -Wno-stringop-overread)
  endif()
endfunction()

# tensorhub_binary(NAME SOURCES … DEPS …)
function(tensorhub_binary name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  tensorhub_warnings(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()

# All programs with the label `unit`, and no others: what to build before `ctest -L unit`.
add_custom_target(tensorhub_unit)

# tensorhub_test(NAME SOURCES … DEPS … [LABELS …] [TIMEOUT s] [ENV VAR=value …]): a GoogleTest program.
function(tensorhub_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS;ENV" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(TENSORHUB_SANITIZE)
    math(EXPR ARG_TIMEOUT "5 * ${ARG_TIMEOUT}")  # what sanitizers cost, on a slow machine
  endif()
  add_executable(${name} ${ARG_SOURCES})
  tensorhub_warnings(${name})
  # What is tested is optimised; the tests' own code is run once.
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${name} PRIVATE -O1)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  if("unit" IN_LIST ARG_LABELS)
    add_dependencies(tensorhub_unit ${name})
  endif()
  # UCX's hooks of the memory functions run in threads that the sanitizer has taken leave of.
  if(TENSORHUB_SANITIZE STREQUAL "thread")
    list(APPEND ARG_ENV "UCX_MEM_MMAP_HOOK_MODE=none")
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
                       ENVIRONMENT "UCX_ERROR_SIGNALS=;${ARG_ENV}")
endfunction()
