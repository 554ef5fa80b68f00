find_package(nlohmann_json REQUIRED)
set(tools ${CMAKE_SOURCE_DIR}/tools)
tutti_fuzz(NAME reports SOURCES reports_fuzz.cpp ${tools}/bsp_report/ledger_file.cpp ${tools}/bsp_report/analysis.cpp
           ${tools}/bsp_report/figures.cpp ${tools}/bsp_report/page.cpp ${tools}/perf/report.cpp ${tools}/perf/page.cpp ${tools}/perf/page_comparison.cpp
           ${tools}/perf/page_style.cpp ${tools}/perf/plot.cpp ${tools}/perf/words.cpp LIBS nlohmann_json::nlohmann_json)
target_compile_definitions(fuzz_reports PRIVATE TUTTI_COMMAND_VERSION="${PROJECT_VERSION}")
