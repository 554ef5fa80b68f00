if(TARGET tutti_verbs_objects)
  pkg_check_modules(HWLOC REQUIRED IMPORTED_TARGET hwloc)
  tutti_fuzz(NAME notes SOURCES notes_fuzz.cpp $<TARGET_OBJECTS:tutti_verbs_objects>
             LIBS tutti_harness fake_adapters tutti_messages PkgConfig::HWLOC)
endif()
