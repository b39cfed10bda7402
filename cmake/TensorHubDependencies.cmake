# Everything comes from the distribution's packages; docs/architecture.md says which and why.

include_guard(GLOBAL)

find_package(absl REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)  # gRPC's own
find_package(spdlog REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ucx REQUIRED)  # any UCX >= 1.13; point ucx_ROOT at another one
include(TensorHubUcx)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
if(TENSORHUB_TESTS)
  find_package(GTest REQUIRED)
endif()
if(TENSORHUB_GRPC)
  find_package(Protobuf MODULE REQUIRED)  # 3.21 ships no config package
  find_package(gRPC CONFIG REQUIRED)
  find_package(nlohmann_json REQUIRED)
  find_package(prometheus-cpp CONFIG REQUIRED)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
  include(TensorHubGrpc)
endif()

if(NOT TENSORHUB_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  if(TENSORHUB_CUDA STREQUAL "ON" AND NOT CUDAToolkit_FOUND)
    message(FATAL_ERROR "TENSORHUB_CUDA=ON, but no CUDA toolkit was found; set CUDAToolkit_ROOT")
  endif()
endif()
if(CUDAToolkit_FOUND)
  message(STATUS "CUDA toolkit ${CUDAToolkit_VERSION} found")
else()
  message(STATUS "CUDA toolkit not found: building for host memory only")
endif()
