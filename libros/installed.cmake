# What `cmake --install` gives other projects: one shared library with all of ours in it, its header,
# and how CMake and pkg-config find them. The programs are installed by tools/CMakeLists.txt.

include(CMakePackageConfigHelpers)
# Where Debian's loader looks, below every prefix; CMake does so for /usr alone.
if(EXISTS /etc/debian_version AND CMAKE_LIBRARY_ARCHITECTURE)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "Libraries, below the prefix")
endif()
include(GNUInstallDirs)

add_library(tensorhub_shared SHARED $<TARGET_OBJECTS:tensorhub_ros>)
set_target_properties(tensorhub_shared PROPERTIES
  LINKER_LANGUAGE CXX OUTPUT_NAME tensorhub EXPORT_NAME ros
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/exported.map)
set_target_properties(tensorhub_shared PROPERTIES TENSORHUB_HIDES_GRPC ${TENSORHUB_HIDE_GRPC})
target_link_libraries(tensorhub_shared
  PRIVATE tensorhub_agent
  PUBLIC absl::status absl::statusor)
target_link_options(tensorhub_shared PRIVATE -Wl,-z,defs  # whoever links it has nothing to add
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/exported.map)
target_compile_features(tensorhub_shared INTERFACE cxx_std_20)
target_include_directories(tensorhub_shared INTERFACE
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/TensorHub)
configure_package_config_file(installed/TensorHubConfig.cmake.in TensorHubConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(TensorHubConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# Relative, so that the prefix may be chosen when it is installed.
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(installed/tensorhub.pc.in tensorhub.pc @ONLY)

install(TARGETS tensorhub_shared EXPORT TensorHub
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT TensorHub NAMESPACE TensorHub:: FILE TensorHubTargets.cmake DESTINATION ${package}
        COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/TensorHubConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/TensorHubConfigVersion.cmake
        DESTINATION ${package} COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tensorhub.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
