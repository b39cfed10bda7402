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

# bfd, the default, takes three times as long for a program with gRPC. The compiler is asked, since a
# cross compiler has a linker of its own name.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld TENSORHUB_LLD)
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

# With the compilers of Debian 12, which CI has. Others warn of what nobody here has seen.
set(known_compilers GNU12 Clang14)
string(REGEX MATCH "^[0-9]+" major "${CMAKE_CXX_COMPILER_VERSION}")
if(PROJECT_IS_TOP_LEVEL AND "${CMAKE_CXX_COMPILER_ID}${major}" IN_LIST known_compilers)
  set(TENSORHUB_WERROR_HERE ON)
else()
  set(TENSORHUB_WERROR_HERE OFF)
endif()
option(TENSORHUB_WERROR "warnings are errors" ${TENSORHUB_WERROR_HERE})

function(tensorhub_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor)
  if(TENSORHUB_WERROR)
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
