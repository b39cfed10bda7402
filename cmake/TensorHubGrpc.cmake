# tensorhub_grpc: gRPC, as our targets link it. That is the system's shared library, but for what has the
# property TENSORHUB_HIDES_GRPC. A program may have another gRPC than the library that it loads, and the
# symbols of the one would take the place of the other's.

include_guard(GLOBAL)
include(CheckCXXSourceCompiles)

option(TENSORHUB_HIDE_GRPC "gRPC is inside the installed library, whose users do not see it" ON)

set(archives "")
foreach(name grpc++ grpc gpr upb address_sorting)
  find_library(TENSORHUB_GRPC_${name} lib${name}.a)
  list(APPEND archives ${TENSORHUB_GRPC_${name}})
endforeach()

# Not every system has archives, nor are they everywhere made for shared libraries.
if(TENSORHUB_HIDE_GRPC AND NOT archives MATCHES "NOTFOUND")
  set(CMAKE_REQUIRED_LINK_OPTIONS -shared)
  set(CMAKE_REQUIRED_LIBRARIES ${archives})
  check_cxx_source_compiles("#include <grpc/grpc.h>\nvoid Begin() { grpc_init(); }\nint main() {}"
                            TENSORHUB_GRPC_IN_SHARED)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
if(TENSORHUB_HIDE_GRPC AND NOT TENSORHUB_GRPC_IN_SHARED)
  message(STATUS "no archives of gRPC that a shared library may have in it: libtensorhub shows the system's")
  set(TENSORHUB_HIDE_GRPC OFF)
endif()

# What gRPC itself links.
set(beside "")
foreach(name grpc++ grpc gpr)
  get_target_property(links gRPC::${name} INTERFACE_LINK_LIBRARIES)
  list(APPEND beside ${links})
endforeach()
list(FILTER beside EXCLUDE REGEX "^gRPC::")
list(REMOVE_DUPLICATES beside)
add_library(tensorhub_grpc INTERFACE)
set(hides "$<BOOL:$<TARGET_PROPERTY:TENSORHUB_HIDES_GRPC>>")
target_link_libraries(tensorhub_grpc INTERFACE
  "$<${hides}:${archives};${beside}>" "$<$<NOT:${hides}>:gRPC::grpc++>")
