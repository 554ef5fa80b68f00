tutti_fuzz(NAME config SOURCES config_fuzz.cpp LIBS tutti_core)
