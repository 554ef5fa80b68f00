#include "core/job/config.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/job/bootstrap_find.h"

using namespace tutti;

namespace {

bool contains(const status& s, std::string_view part) {
  return std::string_view{s.text()}.find(part) != std::string_view::npos;
}

struct temporary_file {
  explicit temporary_file(const std::string& content) {
    std::string name = (std::filesystem::temp_directory_path() / "tutti-config-XXXXXX").string();
    const int fd = mkstemp(name.data());
    BOOST_REQUIRE(fd >= 0);
    close(fd);
    path = name;
    std::ofstream{path} << content;
  }
  ~temporary_file() { std::filesystem::remove(path); }
  std::string path;
};

status error_of(const environment& variables, std::vector<config_option> options = {}) {
  const auto c = config::load(options, variables);
  BOOST_REQUIRE(!c);
  BOOST_TEST((c.error().code() == errc::invalid));
  BOOST_TEST(std::string_view{c.error().text()}.find('\n') == std::string_view::npos);
  return c.error();
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_default_is_a_valid_value_of_its_knob) {
  const config c;
  for (const knob_row& row : knobs()) {
    BOOST_TEST_CONTEXT(row.name) {
      BOOST_TEST(c.text(row.id) == row.standard);
      BOOST_TEST((c.source(row.id) == knob_source::standard));
      const config_option same{row.name, row.standard};
      BOOST_TEST(config::load({&same, 1}, environment{}).ok());
      BOOST_TEST(!row.meaning.empty());
    }
  }
  BOOST_TEST(c.number(knob::timeout_s) == 60u);
}

BOOST_AUTO_TEST_CASE(the_users_own_tuning_table_is_found) {
  const std::string folder = (std::filesystem::temp_directory_path() / ("tutti-config-" + std::to_string(getpid()))).string();
  std::filesystem::create_directories(folder + "/.config/tutti");
  const environment home{{"HOME", folder}};
  BOOST_TEST(users_folder(home) == folder + "/.config/tutti");
  BOOST_TEST((users_folder(environment{{"HOME", folder}, {"XDG_CONFIG_HOME", "/x"}}) == "/x/tutti"));
  BOOST_TEST((users_folder(environment{}).empty() && users_folder(environment{{"HOME", "relative"}}).empty()));
  BOOST_TEST(config::load({}, home)->text(knob::tuning).empty());
  std::ofstream{folder + "/.config/tutti/tuning.json"} << "{}";
  BOOST_TEST(config::load({}, home)->text(knob::tuning) == folder + "/.config/tutti/tuning.json");
  BOOST_TEST(config::load({}, environment{{"HOME", folder}, {"TUTTI_TUNING", "/other"}})->text(knob::tuning) == "/other");
  BOOST_TEST(config::load({}, environment{{"HOME", folder}, {"TUTTI_TUNE", "off"}})->text(knob::tuning).empty());
  std::filesystem::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(option_beats_environment_beats_file_beats_default) {
  const temporary_file file{"# a comment\n\n  barrier = rds  # why\r\nbarrier_radix=4\nwait = spin\n"};
  const environment variables{{"TUTTI_CONFIG_FILE", file.path}, {"TUTTI_BARRIER_RADIX", "8"}, {"TUTTI_WAIT", "yield"}};
  const config_option options[] = {{"wait", "sleep"}};
  const auto c = config::load(options, variables);
  BOOST_REQUIRE_MESSAGE(c.ok(), c.error().text());
  BOOST_TEST(c->text(knob::provider) == "auto");
  BOOST_TEST((c->source(knob::provider) == knob_source::standard));
  BOOST_TEST(c->text(knob::barrier) == "rds");
  BOOST_TEST((c->source(knob::barrier) == knob_source::file));
  BOOST_TEST(c->number(knob::barrier_radix) == 8u);
  BOOST_TEST((c->source(knob::barrier_radix) == knob_source::environment));
  BOOST_TEST(c->text(knob::wait) == "sleep");
  BOOST_TEST((c->source(knob::wait) == knob_source::option));
}

BOOST_AUTO_TEST_CASE(a_file_named_by_an_option_replaces_the_one_of_the_environment) {
  const temporary_file file{"barrier = rds\n"};
  const config_option options[] = {{"config_file", file.path}};
  const auto c = config::load(options, {{"TUTTI_CONFIG_FILE", "/nonexistent"}});
  BOOST_REQUIRE_MESSAGE(c.ok(), c.error().text());
  BOOST_TEST(c->text(knob::barrier) == "rds");
}

BOOST_AUTO_TEST_CASE(unknown_names_are_refused_with_the_nearest_known_one) {
  status s = error_of({{"TUTTI_BARIER", "rds"}});
  BOOST_TEST(contains(s, "TUTTI_BARIER"));
  BOOST_TEST(contains(s, "did you mean TUTTI_BARRIER?"));
  s = error_of({{"TUTTI_PROVIDERPATH", "x"}});
  BOOST_TEST(contains(s, "did you mean TUTTI_PROVIDER_PATH?"));
  s = error_of({{"TUTTI_FOO", "1"}});
  BOOST_TEST(contains(s, "TUTTI_FOO"));
  BOOST_TEST(!contains(s, "did you mean"));
  s = error_of({}, {{"timeout_m", "3"}});
  BOOST_TEST(contains(s, "did you mean timeout_s?"));
  const temporary_file file{"barrier = rds\n\nprovidr = shm\n"};
  s = error_of({{"TUTTI_CONFIG_FILE", file.path}});
  BOOST_TEST(contains(s, "did you mean provider?"));
  BOOST_TEST(contains(s, file.path + " line 3"));
}

BOOST_AUTO_TEST_CASE(bad_values_are_refused_naming_value_and_mend) {
  for (const char* bad : {"abc", "65", "-1", "4x", " 4", "99999999999999999999"}) {
    BOOST_TEST_CONTEXT('"' << bad << '"') {
      const status s = error_of({{"TUTTI_BARRIER_RADIX", bad}});
      BOOST_TEST(contains(s, std::string{"TUTTI_BARRIER_RADIX="} + bad + " "));
      BOOST_TEST(contains(s, "from 0 to 64"));
    }
  }
  for (const char* bad : {"busy", "spin|yield", "Spin"}) {
    const status s = error_of({{"TUTTI_WAIT", bad}});
    BOOST_TEST(contains(s, "auto|spin|yield|sleep"));
  }
  BOOST_TEST(contains(error_of({{"TUTTI_TIMEOUT_S", "0"}}), "from 1 to"));
}

BOOST_AUTO_TEST_CASE(an_empty_variable_is_as_unset) {
  const temporary_file file{"wait = yield\n"};
  const auto c = config::load({}, {{"TUTTI_CONFIG_FILE", file.path}, {"TUTTI_PROVIDER", ""}, {"TUTTI_WAIT", ""}, {"TUTTI_BARRIER_RADIX", ""}}, {});
  BOOST_TEST_REQUIRE(c.ok());
  BOOST_TEST(c->text(knob::provider) == "auto");
  BOOST_TEST(c->text(knob::wait) == "yield");
  BOOST_TEST(c->number(knob::barrier_radix) == 0u);
  BOOST_TEST(contains(error_of({{"TUTTI_NONE_SUCH", ""}}), "TUTTI_NONE_SUCH"));
}

BOOST_AUTO_TEST_CASE(bad_files_are_refused) {
  BOOST_TEST(contains(error_of({{"TUTTI_CONFIG_FILE", "/nonexistent/x"}}), "/nonexistent/x"));
  const temporary_file shapeless{"barrier rds\n"};
  BOOST_TEST(contains(error_of({{"TUTTI_CONFIG_FILE", shapeless.path}}), "name = value"));
  const temporary_file recursive{"config_file = /x\n"};
  BOOST_TEST(contains(error_of({{"TUTTI_CONFIG_FILE", recursive.path}}), "cannot name another file"));
  const temporary_file bad_value{"barrier_radix = many\n"};
  BOOST_TEST(contains(error_of({{"TUTTI_CONFIG_FILE", bad_value.path}}), "line 1: barrier_radix=many"));
}

// Each of these was waited for, or read, without end.
BOOST_AUTO_TEST_CASE(what_is_no_short_file_is_refused_at_once) {
  const std::string folder = std::filesystem::temp_directory_path();
  const auto refusal = [](const std::string& path) { return error_of({{"TUTTI_CONFIG_FILE", path}}); };
  BOOST_TEST(contains(refusal(folder), "it is a folder"));
  BOOST_TEST(contains(refusal("/dev/zero"), "it is a device"));
  BOOST_TEST(contains(refusal("/dev/stdin"), "correct TUTTI_CONFIG_FILE"));
  const temporary_file taken{""};
  const std::string fifo = taken.path + ".fifo";
  BOOST_REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  BOOST_TEST(contains(refusal(fifo), "it is a pipe"));
  std::filesystem::remove(fifo);
  const temporary_file fits{std::string((1 << 20) - 1, '#') + "\n"};
  BOOST_TEST(config::load({}, {{"TUTTI_CONFIG_FILE", fits.path}}).ok());
  const temporary_file longer{std::string(1 << 20, '#') + "\n"};
  BOOST_TEST(contains(refusal(longer.path), "longer than 1024 KiB"));
  const temporary_file secret{"barrier = rds\n"};
  BOOST_REQUIRE(chmod(secret.path.c_str(), 0) == 0);
  if (getuid() != 0) BOOST_TEST(contains(refusal(secret.path), "Permission denied"));
  BOOST_TEST(contains(refusal(secret.path + "/x"), "Not a directory"));
  BOOST_TEST(contains(refusal(std::string(5000, 'x')), "File name too long"));
}

// What an error quotes is cut to where a person reads it, the remedy kept; and it is found in no time.
BOOST_AUTO_TEST_CASE(an_error_is_one_line_of_bounded_length) {
  const std::string huge(8 << 20, 'x');
  for (const status& s : {error_of({{"TUTTI_WAIT", huge}}), error_of({{"TUTTI_BARRIER_RADIX", huge}}),
                          error_of({{"TUTTI_" + huge, "1"}}), error_of({}, {{huge, "1"}}),
                          error_of({{"TUTTI_CONFIG_FILE", huge}}), error_of({{"TUTTI_WAIT", huge}}).during(huge)})
    BOOST_TEST(std::string_view{s.text()}.size() <= 4096u);
  BOOST_TEST(contains(error_of({{"TUTTI_WAIT", huge}}), "use one of auto|spin|yield|sleep"));
  BOOST_TEST(contains(error_of({{"TUTTI_" + huge, "1"}}), "`tutti info --config` lists"));
  const temporary_file long_line{std::string(1 << 19, 'y')};
  BOOST_TEST(contains(error_of({{"TUTTI_CONFIG_FILE", long_line.path}}), "not of the form `name = value`"));
  const status lines = error_of({{"TUTTI_WAIT", "a\nb\x1b[2J\xc3\xa9"}});
  BOOST_TEST(contains(lines, "TUTTI_WAIT=a b [2J\xc3\xa9 is"));
  std::string letters;  // of two bytes each: none is cut in two
  for (int i = 0; i < 5000; ++i) letters += "\xc3\xa9";
  for (const std::string& shift : {std::string{}, std::string{"x"}}) {
    const std::string text = status{errc::invalid, shift + letters}.text();
    const auto gap = text.find(" [...] ");
    BOOST_REQUIRE(gap != text.npos);
    BOOST_TEST(text.substr(gap - 2, 2) == "\xc3\xa9");
    BOOST_TEST(text.substr(gap + 7, 2) == "\xc3\xa9");
  }
}

BOOST_AUTO_TEST_CASE(variables_of_others_and_of_tests_are_left_alone) {
  BOOST_TEST(config::load({}, {{"PATH", "/bin"}, {"TUTT", "x"}, {"TUTTI_TEST_SEED", "7"}, {"TUTTJ_X", "y"}}).ok());
}

BOOST_AUTO_TEST_CASE(the_process_environment_is_read) {
  setenv("TUTTI_TEST_CANARY", "a=b", 1);
  const environment e = process_environment();
  const auto found = e.find("TUTTI_TEST_CANARY");
  BOOST_REQUIRE((found != e.end()));
  BOOST_TEST(found->second == "a=b");
}

// --- which launcher ---------------------------------------------------------------------------------------------

namespace {

config started_by(const environment& variables) {
  auto c = config::load({}, variables);
  BOOST_REQUIRE(c.ok());
  return *std::move(c);
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_launcher_is_a_job_of_one) {
  const auto b = find_bootstrap(started_by({}));
  BOOST_REQUIRE_MESSAGE(b.ok(), b.error().text());
  BOOST_TEST((*b)->size() == 1u);
  BOOST_TEST((*b)->rank() == 0u);
  const std::byte mine[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  const auto all = (*b)->allgather(mine, {});
  BOOST_REQUIRE(all.ok());
  BOOST_TEST((*all)->size() == 1u);
  BOOST_TEST(((**all)[0].size() == 3u && (**all)[0][2] == std::byte{3}));
  const auto other = find_bootstrap(started_by({}));
  BOOST_TEST((*b)->job_id() != (*other)->job_id());
}

BOOST_AUTO_TEST_CASE(a_launcher_of_another_protocol_is_an_error_that_names_it) {
  auto b = find_bootstrap(started_by({{"PMI_FD", "6"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}}));
  BOOST_REQUIRE(!b);
  BOOST_TEST((b.error().code() == errc::unavailable));
  BOOST_TEST(contains(b.error(), "MPICH"));
  BOOST_TEST(contains(b.error(), "tutti run"));
  const environment srun{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  environment srun_pmi2 = srun;
  srun_pmi2.insert({{"PMI_FD", "6"}, {"PMI_SIZE", "2"}});
  for (const environment& e : {srun, srun_pmi2}) {
    b = find_bootstrap(started_by(e));
    BOOST_REQUIRE(!b);
    BOOST_TEST(contains(b.error(), "srun without --mpi=pmix"));
  }
}

BOOST_AUTO_TEST_CASE(a_batch_script_and_a_step_of_one_are_no_job_of_several) {
  BOOST_TEST(find_bootstrap(started_by({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})).ok());
  BOOST_TEST(find_bootstrap(started_by({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})).ok());
  BOOST_TEST(find_bootstrap(started_by({{"PMI_FD", "6"}, {"PMI_SIZE", "1"}})).ok());
}

BOOST_AUTO_TEST_CASE(a_line_to_a_simulated_world_comes_before_all_launchers) {
  const environment given{{"TUTTI_SIMULATED", "4:x"}, {"PMIX_NAMESPACE", "j"}, {"PMIX_RANK", "0"}, {"PMIX_SERVER_URI41", "x"}};
  BOOST_TEST(started_by(given).launcher().simulated == "4:x");
  BOOST_TEST(!started_by(given).launcher().pmix);
  const auto b = find_bootstrap(started_by(given));
  BOOST_REQUIRE(!b);
  BOOST_TEST((b.error().code() == errc::unavailable));
  BOOST_TEST(contains(b.error(), "TUTTI_SIMULATED=4:x"));
  BOOST_TEST(find_bootstrap(started_by({{"TUTTI_SIMULATED", ""}})).ok());
}

BOOST_AUTO_TEST_CASE(pmix_is_recognised_only_with_a_server) {
  BOOST_TEST(started_by({{"PMIX_NAMESPACE", "j"}, {"PMIX_RANK", "0"}, {"PMIX_SERVER_URI41", "x"}}).launcher().pmix);
  BOOST_TEST(!started_by({{"PMIX_NAMESPACE", "j"}, {"PMIX_RANK", "0"}}).launcher().pmix);
  BOOST_TEST(!started_by({{"PMIX_MCA_gds", "hash"}}).launcher().pmix);
}

// Open MPI's MPI_Init does this to a process that another launcher started.
BOOST_AUTO_TEST_CASE(a_process_that_was_led_away_from_its_job_is_refused) {
  const environment given{{"PMIX_NAMESPACE", "j"}, {"PMIX_RANK", "1"}, {"PMIX_SERVER_URI41", "x"}};
  const auto seen = [&](const environment& now, const environment& at_start) {
    auto c = config::load({}, now, at_start);
    BOOST_REQUIRE(c.ok());
    return c->launcher().rewritten;
  };
  BOOST_TEST(!seen(given, given));
  BOOST_TEST(!seen(given, {}));        // not known
  BOOST_TEST(!seen({}, given));        // taken away on purpose: a job of one
  environment led = given;
  led["PMIX_NAMESPACE"] = "k";
  BOOST_TEST(seen(led, given));
  led = given, led["PMIX_RANK"] = "0";
  BOOST_TEST(seen(led, given));
  const auto b = find_bootstrap(*config::load({}, led, given));
  BOOST_REQUIRE(!b);
  BOOST_TEST((b.error().code() == errc::unavailable));
  BOOST_TEST(contains(b.error(), "MPI_Init of Open MPI"));
  BOOST_TEST(contains(b.error(), "mpirun"));
  BOOST_TEST((environment_at_start().find("PATH") != environment_at_start().end()));
}
