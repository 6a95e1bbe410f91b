# Installs the headers and a relocatable CMake package: find_package(l3) and, for the tensor level alone,
# find_package(l3 COMPONENTS tensor).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(l3_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/l3)
set_target_properties(l3_tensor PROPERTIES EXPORT_NAME tensor)
set_target_properties(l3_l3 PROPERTIES EXPORT_NAME l3)

install(DIRECTORY include/ TYPE INCLUDE FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
install(TARGETS l3_tensor l3_l3 EXPORT l3)
install(EXPORT l3 NAMESPACE l3:: FILE l3Targets.cmake DESTINATION ${l3_package_dir})

configure_package_config_file(cmake/l3Config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/l3Config.cmake
                              INSTALL_DESTINATION ${l3_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/l3ConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)  # while the major version is 0
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/l3Config.cmake ${CMAKE_CURRENT_BINARY_DIR}/l3ConfigVersion.cmake
              cmake/Findxsimd.cmake cmake/FindPCRE2.cmake DESTINATION ${l3_package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
