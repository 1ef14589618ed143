/* The command line: parsing into a struct, and the pages of the same table. */
#include "tests/support/support.h"

#include "data/base/option_rows.h"

#include "data/base/log.h"
#include "data/base/stop.h"
#include "data/base/yaml.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct brew_options {
    bool quick;
    enum { BLACK, GREEN, MINT } kind;
    const char *out, *cup, *config;
    int64_t cups;
    double strength, graph_lr;
};

static const struct brew_options brew_defaults = { .cup = "glass", .cups = 2, .strength = 0.5, .graph_lr = 1e-4 };

#define AT(field) offsetof(struct brew_options, field)

static const struct option brew_table[] = {
    OUT_OPTION(AT(out), "FILE", "where it goes", .required = true),
    FLAG_OPTION("quick", AT(quick), "no waiting", .letter = 'q'),
    CHOICE_OPTION("kind", AT(kind), "KIND", "black|green|mint", "what is brewed", .letter = 'k'),
    WORD_OPTION("vessel", AT(cup), "OF", "glass|china", "what it is drunk from"),
    INT_OPTION("cups", AT(cups), "N", 1, 12, "how many", .letter = 'c'),
    REAL_OPTION("strength", AT(strength), "X", OPTION_ABOVE_ZERO, HUGE_VAL, "of the brew"),
    REAL_OPTION("graph-lr", AT(graph_lr), "X", 0, 1, "of the graph"),
    OPTION_ROW(OPTION_CONFIG, "config", AT(config), .value = "FILE", .help = "settings"),
    { 0 },
};

static struct brew_options got;
static char operands_got[256];

static enum exit_code brew(const struct call *call, struct error *err)
{
    static const char *const kinds[] = { "black", "green", "mint" };
    got = *(const struct brew_options *)call->options;
    log_info("told at info");
    log_debug("told at debug");
    for (int i = 0, at = 0; i < call->n_operands; i++)
        at += snprintf(operands_got + at, sizeof operands_got - (size_t)at, "%s;", call->operands[i]);
    printf("%s %s %s %lld %g %g %d [%s]\n", got.cup, got.out, kinds[got.kind], (long long)got.cups, got.strength,
           got.graph_lr, got.quick, operands_got);
    return got.cups == 7 ? (error_set(err, EXIT_CODE_DATA, "seven is odd"), EXIT_CODE_DATA) : EXIT_CODE_OK;
}

static const struct file_note brew_files[] = { { "FILE.leaves", "what is left in the pot" }, { 0 } };

static const struct command brew_command = {
    .name = "brew",
    .summary = "makes tea",
    .operands = "LEAF...",
    .max_operands = 3,
    OPTIONS(brew_table, brew_defaults),
    .run = brew,
    .details = "First water.\n\nThen leaves.",
    .examples = { "teapot brew -o cup", "teapot brew -o cup --kind mint mentha" },
    .files = brew_files,
};
static const struct command serve_command = {
    .name = "serve",
    .summary = "pours it",
    ONE_OPERAND("CUP"),
    .defaults = &brew_defaults,
    .size = sizeof brew_defaults,
    .run = brew,
    .examples = { "teapot serve cup", "teapot serve mug" },
};

/* Two modes of one command; both have --out. */
struct clean_options {
    const char *out, *cloth;
    int64_t times;
};

static const struct clean_options wash_defaults = { .out = "sink", .times = 3 }, dry_defaults = { .out = "rack" };

#undef AT
#define AT(field) offsetof(struct clean_options, field)

static const struct option wash_table[] = {
    INT_OPTION("times", AT(times), "N", 1, 9, "number of rinses", .required = true, .group = "water"),
    OUT_OPTION(AT(out), "FILE", "place of the pot"),
    { 0 },
};
static const struct option dry_table[] = {
    OUT_OPTION(AT(out), "FILE", "place of the pot"),
    STRING_OPTION("cloth", AT(cloth), "COLOUR", "colour of the cloth"),
    { 0 },
};

static enum exit_code clean(const struct call *call, struct error *err)
{
    const struct clean_options *o = call->options;

    (void)err;
    printf("%s %s %lld %d\n", o->out, o->cloth ? o->cloth : "none", (long long)o->times, call->n_operands);
    return EXIT_CODE_OK;
}

static const struct command wash_mode = {
    .name = "wash",
    .summary = "rinses the pot",
    OPTIONS(wash_table, wash_defaults),
    .run = clean,
    .examples = { "teapot clean wash --times 2", "teapot clean wash --times 1" },
};
static const struct command dry_mode = {
    .name = "dry",
    .summary = "wipes the pot",
    ONE_OPERAND("POT"),
    OPTIONS(dry_table, dry_defaults),
    .run = clean,
    .examples = { "teapot clean dry pot", "teapot clean dry mug" },
};
static const struct command *const clean_modes[] = { &wash_mode, &dry_mode, NULL };
static const struct command clean_command = {
    .name = "clean",
    .summary = "cleans the pot",
    .modes = clean_modes,
    .examples = { "teapot clean wash --times 2", "teapot clean dry pot" },
};
static const struct command *const commands[] = { &brew_command, &serve_command, &clean_command };
static const struct alias aliases[] = { { "pour", "serve" }, { 0 } };
static const struct program teapot = { "teapot", "tea for tests", commands, ARRAY_LEN(commands), aliases };

/* Runs main in a child with both outputs in one file; the words are separated by single spaces. */
static int run(const char *line, char **output)
{
    char *dir = test_dir_new(), words[1024], *argv[32] = { "teapot" };
    const char *path = test_file(dir, "out", NULL);
    int argc = 1, status;
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok(words, " "); w; w = strtok(NULL, " "))
        argv[argc++] = w;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(path, O_CREAT | O_WRONLY, 0600);
        dup2(fd, STDOUT_FILENO);
        dup2(fd, STDERR_FILENO);
        int rc = program_main(&teapot, argc, argv);
        fflush(NULL);
        _exit(rc);
    }
    waitpid(child, &status, 0);
    *output = test_read(path);
    test_dir_remove(dir);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *line, int code, const char *const *words)
{
    char *output;
    int rc = run(line, &output);
    for (; *words; words++)
        if (!strstr(output, *words))
            fail_msg("'%s' does not say '%s':\n%s", line, *words, output);
    if (rc != code)
        fail_msg("'%s' exits with %d, expected %d:\n%s", line, rc, code, output);
    free(output);
}
#define EXPECT(line, code, ...) expect(line, code, (const char *const[]){ __VA_ARGS__, NULL })

/* serve has no option table. */
static void every_command_has_the_common_options(void **state)
{
    static const char *const lines[] = { "brew -o x", "serve cup" };
    char line[256];

    (void)state;
    for (int i = 0; i < ARRAY_LEN(lines); i++) {
        snprintf(line, sizeof line, "%s --quiet --verbose", lines[i]);
        EXPECT(line, 2, "--quiet and --verbose cannot be used together");
        snprintf(line, sizeof line, "%s --quite", lines[i]);
        EXPECT(line, 2, "unknown option --quite, did you mean --quiet?");
    }
    EXPECT("help serve", 0, "--quiet", "--verbose", "--threads N");
    EXPECT("brew -o x --verbose", 0, "told at debug", "told at info");
    EXPECT("brew -o x", 0, "told at info");
    EXPECT("brew -o x --quiet --cups 7", 3, "teapot brew: seven is odd");
    EXPECT("serve --quiet cup", 0, "[cup;]");
    setenv("AMBIT_LOG", "loud", 1);
    EXPECT("brew -o x", 2, "AMBIT_LOG: expected error, warn, info or debug, got 'loud'");
    EXPECT("help brew", 0, "--verbose");
    setenv("AMBIT_LOG", "error", 1);
    EXPECT("brew -o x --verbose", 0, "told at debug");
    setenv("AMBIT_LOG", "", 1);
    EXPECT("brew -o x", 0, "told at info");
    unsetenv("AMBIT_LOG");
    char *output;
    assert_int_equal(run("brew -o x --quiet", &output), 0);
    assert_null(strstr(output, "told"));
    free(output);
}

static void synonyms_are_suggested(void **state)
{
    (void)state;
    EXPECT("brew --output x", 2, "unknown option --output, did you mean --out?");
    EXPECT("brew --out_file=x", 2, "unknown option --out_file, did you mean --out?");
    EXPECT("brew -o x --jobs 3", 2, "unknown option --jobs, did you mean --threads?");
    EXPECT("brew -o x --cup", 2, "unknown option --cup, did you mean --cups?");
    EXPECT("brew -o x --model m", 2, "unknown option --model\n");
}

static void values_reach_their_fields(void **state)
{
    (void)state;
    EXPECT("brew -o x", 0, "x black 2 0.5 0.0001 0 []");
    EXPECT("brew --out=x --kind green --cups 12 --strength 1e-3 --quick", 0, "x green 12 0.001 0.0001 1 []");
    EXPECT("brew -qox -c3", 0, "x black 3 0.5 0.0001 1 []");
    EXPECT("brew --out= --no-quick", 0, " black 2 0.5");
    EXPECT("brew -o x --quick --no-quick", 0, " 0 []");
    EXPECT("brew -o x --quick=false", 0, " 0 []");
    EXPECT("brew -o a -o b", 0, "b black");
    EXPECT("brew -o x --vessel china", 0, "china x black");
}

static void operands_may_stand_anywhere(void **state)
{
    (void)state;
    EXPECT("brew a -o x b --quick -", 0, "1 [a;b;-;]");
    EXPECT("brew -o x -- --quick -q", 0, "0 [--quick;-q;]");
    EXPECT("brew -o x a b c d", 2, "'d' is an unexpected operand");
    EXPECT("serve", 2, "expected CUP");
    EXPECT("serve mug", 0, "[mug;]");
}

static void mistakes_are_explained(void **state)
{
    (void)state;
    EXPECT("brew", 2, "-o, --out FILE is required", "teapot help brew");
    EXPECT("brew -o x --cup 3", 2, "unknown option --cup", "did you mean --cups?");
    EXPECT("brew -o x --strenght=3", 2, "did you mean --strength?");
    EXPECT("brew -o x --zzzzzzzz", 2, "unknown option --zzzzzzzz\n");
    EXPECT("brew -o x --no-kind", 2, "unknown option --no-kind");
    EXPECT("brew -o x -qz", 2, "unknown option -z");
    EXPECT("brew -o x --cups", 2, "--cups: expected a value: N");
    EXPECT("brew -o x --cups 13", 2, "--cups: expected 1 to 12, got 13");
    EXPECT("brew -o x --cups 3x", 2, "--cups: expected an integer, got '3x'");
    EXPECT("brew -o x --cups 99999999999999999999", 2, "expected an integer");
    EXPECT("brew -o x -c 0", 2, "-c: expected 1 to 12");
    EXPECT("brew -o x --strength 0", 2, "--strength: expected > 0, got 0");
    EXPECT("brew -o x --strength nan", 2, "expected a number");
    EXPECT("brew -o x --strength inf", 2, "expected a number");
    EXPECT("brew -o x --kind gren", 2, "expected one of black|green|mint, got 'gren'", "did you mean 'green'?");
    EXPECT("brew -o x --vessel clay", 2, "--vessel: expected one of glass|china, got 'clay'");
    EXPECT("brew -o x --quick=perhaps", 2, "expected true or false");
    EXPECT("brww", 2, "unknown command 'brww', did you mean 'brew'?");
    EXPECT("--out x brew", 2, "the command comes first");
    EXPECT("", 2, "usage: teapot COMMAND");
    EXPECT("brew -o x --cups 7", 3, "error: teapot brew: seven is odd");
}

static void long_words_do_no_harm(void **state)
{
    (void)state;
    char line[800] = "brew -o x --";
    memset(line + strlen(line), 'y', 600);
    EXPECT(line, 2, "unknown option --yyyy");
    snprintf(line, sizeof line, "brew -o x --cups %0600d", 0);
    EXPECT(line, 2, "expected 1 to 12, got 0000");
}

static void pages_describe_the_table(void **state)
{
    (void)state;
    EXPECT("--help", 0, "brew", "makes tea", "serve", "Exit codes:", "130");
    EXPECT("help brew", 0, "usage: teapot brew --out FILE [options] LEAF...", "Then leaves.", "-c, --cups N",
           "what is brewed: black|green|mint (default black)", "(required)", "of the brew (default 0.5)");
    EXPECT("brew -x --help", 0, "usage: teapot brew");
    EXPECT("help bruw", 2, "did you mean 'brew'?");
    EXPECT("--version", 0, "teapot 0.", "commit", "compiler", "jansson 2.");
    EXPECT("help brew", 0, "files:", "FILE.leaves",
           "examples:\n  teapot brew -o cup\n  teapot brew -o cup --kind mint");
    EXPECT("man", 0, ".TH TEAPOT 1", "also called pour", ".SH EXIT STATUS", ".BR teapot-brew (1)");
    EXPECT("man brew", 0, ".TH TEAPOT-BREW 1", "\\-\\-cups", ".SH FILES", "FILE.leaves", ".SH EXAMPLES",
           "Then leaves.");
    EXPECT("man bruw", 2, "did you mean 'brew'?");
    EXPECT("completion bash", 0, "complete -o default -F _teapot teapot", "serve|pour)");
    EXPECT("completion zsh", 0, "#compdef teapot",
           "'(-k --kind)'{-k,--kind}'[what is brewed]:KIND:(black green mint)'");
    EXPECT("completion fish", 0, "-l cups -x", "-l out -r -F");
    EXPECT("completion tcsh", 2, "expected bash, zsh or fish, got 'tcsh'");
    EXPECT("completion", 2, "expected bash, zsh or fish");
}

static void a_former_name_is_understood(void **state)
{
    (void)state;
    EXPECT("pour mug", 0, "[mug;]");
    EXPECT("pour", 2, "teapot serve: expected CUP", "see teapot help serve");
    EXPECT("help pour", 0, "usage: teapot serve");
    EXPECT("pous", 2, "did you mean 'pour'?");
    EXPECT("--help", 0, "pours it (also: pour)");
}

static void completion_is_a_working_script(void **state)
{
    (void)state;
    char *script, *out, line[512], *dir = test_dir_new();
    assert_int_equal(run("completion bash", &script), 0);
    const char *path = test_file(dir, "teapot.bash", script);
    snprintf(line, sizeof line,
             "source %s; COMP_WORDS=(teapot brew --str) COMP_CWORD=2; _teapot; echo \"${COMPREPLY[@]}\";"
             "COMP_WORDS=(teapot brew --kind g) COMP_CWORD=3; _teapot; echo \"${COMPREPLY[@]}\";"
             "COMP_WORDS=(teapot s) COMP_CWORD=1; _teapot; echo \"${COMPREPLY[@]}\"",
             path);
    const char *file = test_file(dir, "run.bash", line);
    snprintf(line, sizeof line, "bash %s", file);
    FILE *f = popen(line, "r");
    char text[256] = "";
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    pclose(f);
    out = text;
    assert_string_equal(out, "--strength\ngreen\nserve\n");
    free(script);
    test_dir_remove(dir);
}

static void config_file_stands_between_defaults_and_words(void **state)
{
    (void)state;
    char line[512], *dir = test_dir_new();
    const char *path = test_file(dir, "tea.yaml", "out: from-file\ncups: 4\nquick: yes\ngraph: { lr: 0.25 }\n");
    snprintf(line, sizeof line, "brew --cups 5 --config %s", path);
    EXPECT(line, 0, "from-file black 5 0.5 0.25 1 []");
    snprintf(line, sizeof line, "brew --config=%s --no-quick -o word leaf", path);
    EXPECT(line, 0, "word black 4 0.5 0.25 0 [leaf;]");
    path = test_file(dir, "bad.yaml", "out: x\ncups: many\n");
    snprintf(line, sizeof line, "brew --config %s", path);
    EXPECT(line, 2, "bad.yaml:2:7: cups: expected an integer, got 'many'");
    EXPECT("brew -o x --config /no/such.yaml", 2, "/no/such.yaml: No such file");
    test_dir_remove(dir);
}

static void the_first_word_chooses_a_mode(void **state)
{
    (void)state;
    EXPECT("clean wash --times 2", 0, "sink none 2 0");
    EXPECT("clean dry --cloth red pot -o shelf", 0, "shelf red 0 1");
    EXPECT("clean", 2, "teapot clean: expected a mode: wash or dry");
    EXPECT("clean wsah", 2, "unknown mode 'wsah', did you mean 'wash'?");
    EXPECT("clean --times 2 wash", 2, "expected wash or dry as the first word, got '--times'");
    EXPECT("clean wash", 2, "teapot clean wash: --times N is required", "see teapot help clean wash");
    EXPECT("clean wash --times 2 --cloth red", 2, "unknown option --cloth");
    EXPECT("clean dry", 2, "expected POT");
    EXPECT("clean dry --quite pot", 2, "did you mean --quiet?");
}

/* The page of a command has the options of all modes, each once; the page of a mode has its own. */
static void pages_describe_modes(void **state)
{
    char *whole, *mode, *again;

    (void)state;
    EXPECT("clean --help", 0, "usage: teapot clean wash --times N [options]\n       teapot clean dry [options] POT\n",
           "wash                        rinses the pot", "several modes:\n  -o, --out FILE", "(default sink)",
           "wash:\n  --times N                   number of rinses (default 3)\n\ndry:\n  --cloth COLOUR", "general:\n");
    assert_int_equal(run("clean --help", &whole), 0);
    assert_null(strstr(strstr(whole, "--out") + 1, "--out"));
    assert_int_equal(run("help clean dry", &mode), 0);
    assert_int_equal(run("clean dry -h", &again), 0);
    assert_string_equal(mode, again);
    assert_non_null(strstr(mode, "usage: teapot clean dry [options] POT\n"));
    assert_non_null(strstr(mode, "(default rack)"));
    assert_null(strstr(mode, "--times"));
    free(whole);
    free(mode);
    free(again);
    EXPECT("man clean", 0, ".B teapot clean wash", ".B teapot clean dry", ".SH MODES", "\\-\\-cloth");
    EXPECT("completion bash", 0, "clean:clean) words='wash dry'", "clean) words='--out --times --cloth");
    EXPECT("completion zsh", 0, "'1:MODE:(wash dry)'");
    EXPECT("completion fish", 0, "-f -a 'wash dry'");
}

static void lost_output_is_a_failure(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    fflush(NULL);
    pid_t child = fork();
    int status;
    if (child == 0) {
        char *argv[] = { "teapot", "--help" };
        int fd = open("/dev/full", O_WRONLY), quiet = open("/dev/null", O_WRONLY);
        dup2(fd, STDOUT_FILENO);
        dup2(quiet, STDERR_FILENO);
        _exit(program_main(&teapot, 2, argv));
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_CODE_FAILURE);
}

static void one_signal_asks_and_two_end(void **state)
{
    (void)state;
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        stop_install();
        if (stop_requested() || stop_exit_code() != EXIT_CODE_OK)
            _exit(1);
        raise(SIGTERM);
        if (stop_requested() != SIGTERM || stop_exit_code() != EXIT_CODE_SIGTERM)
            _exit(2);
        raise(SIGINT);
        _exit(3);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_CODE_SIGINT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_has_the_common_options),
        cmocka_unit_test(values_reach_their_fields),
        cmocka_unit_test(operands_may_stand_anywhere),
        cmocka_unit_test(synonyms_are_suggested),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(long_words_do_no_harm),
        cmocka_unit_test(pages_describe_the_table),
        cmocka_unit_test(a_former_name_is_understood),
        cmocka_unit_test(completion_is_a_working_script),
        cmocka_unit_test(config_file_stands_between_defaults_and_words),
        cmocka_unit_test(the_first_word_chooses_a_mode),
        cmocka_unit_test(pages_describe_modes),
        cmocka_unit_test(lost_output_is_a_failure),
        cmocka_unit_test(one_signal_asks_and_two_end),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
