# Debian packages by CPack: one for each component. `cpack` is called by tools/packages.sh, which sets
# SOURCE_DATE_EPOCH, so that the same sources give the same bytes.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tensorhub)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_CONTACT "The TensorHub Authors <maintainers@tensorhub.invalid>")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development server agent tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)

# debian_package(COMPONENT NAME SECTION SUMMARY DESCRIPTION [FILES…]): FILES are what dpkg
# acts on.
macro(debian_package component name section summary description)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${description}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${ARGN}")
  install(FILES debian/copyright DESTINATION share/doc/${name} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz DESTINATION share/doc/${name}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/debian/lintian/${name})
    install(FILES debian/lintian/${name} DESTINATION share/lintian/overrides COMPONENT ${component}
            EXCLUDE_FROM_ALL)
  endif()
endmacro()

# service_scripts(PROGRAM): its postinst, prerm and postrm, from the ones of this folder.
function(service_scripts program result)
  set(PROGRAM ${program})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${program})
  set(scripts)
  foreach(script postinst prerm postrm)
    configure_file(debian/${script}.in ${folder}/${script} @ONLY
                   FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                    WORLD_READ WORLD_EXECUTE)
    list(APPEND scripts ${folder}/${script})
  endforeach()
  string(REPLACE "tensorhub-" "" component ${program})
  file(WRITE ${folder}/conffiles "/etc/tensorhub/${component}.conf\n")
  set(${result} ${scripts} ${folder}/conffiles PARENT_SCOPE)
endfunction()

configure_file(debian/changelog.in changelog @ONLY)
execute_process(COMMAND ${TENSORHUB_GZIP} -9nfk ${CMAKE_CURRENT_BINARY_DIR}/changelog
                COMMAND_ERROR_IS_FATAL ANY)

service_scripts(tensorhub-server server_scripts)
service_scripts(tensorhub-agent agent_scripts)

debian_package(library libtensorhub${PROJECT_VERSION_MAJOR} libs
  "weights of models from trainers to rollouts - library"
  "What trainers publish versions of a model's weights with, and rollouts fetch
them. The bytes go from process to process over UCX."
  ${CMAKE_CURRENT_SOURCE_DIR}/debian/triggers)
debian_package(development libtensorhub-dev libdevel
  "weights of models from trainers to rollouts - development"
  "The header of libtensorhub, and how CMake and pkg-config find it.")
debian_package(server tensorhub-server net
  "weights of models from trainers to rollouts - server"
  "Knows which worker holds which version of a model's weights, and assigns to
each reader the best source. It holds no weights."
  ${server_scripts})
debian_package(agent tensorhub-agent net
  "weights of models from trainers to rollouts - agent of a host"
  "Keeps the newest version of models in this host's memory, for whoever needs
it after its trainer has moved on."
  ${agent_scripts})
debian_package(tools tensorhub-tools net
  "weights of models from trainers to rollouts - tools"
  "The program tensorhubctl looks at a running TensorHub, and brings checkpoints
in and out.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libtensorhub${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}), libabsl-dev")
set(sysusers "systemd-standalone-sysusers | systemd")
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "init-system-helpers (>= 1.52), ${sysusers}")
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS "init-system-helpers (>= 1.52), ${sysusers}")
include(CPack)
