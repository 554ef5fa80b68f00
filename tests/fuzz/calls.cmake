tutti_fuzz(NAME calls SOURCES calls_fuzz.cpp LIBS tutti_bsp_engine tutti_harness)
