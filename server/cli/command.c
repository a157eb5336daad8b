/*
 * The table of commands, and its uses: parsing, help, messages about wrong usage, and manual pages
 * (`guideway man`).
 */
#include "server/cli/command.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/cli/version.h"
#include "server/schema/wire.h"

static int command_man(const command_line *line);

static const cli_command commands[] = {
    {"serve",
     .words = "The appliance: the page, REST and the stream. Where no scene is named it comes "
              "back to the document that was worked on last, saved or not, else the first of the "
              "gallery.",
     .options =
         {{"listen", "ADDR:PORT", "127.0.0.1:8080",
           .words = "Where to listen; port 0 takes a free one."},
          {"scene", "FILE", .words = "A scene file, or the name of a scene of the gallery."},
          {"data", "DIR", "the user's data folder", .words = "Where scenes and meshes are saved."},
          {"token-file", "FILE",
           .words = "What clients must present, a line each; \"watch:\", \"edit:\" or \"operate:\" "
                    "before a token, also several with commas, say what it allows. Needed "
                    "beyond loopback."},
          {"processor", "N", "any",
           .words =
               "Pins the loop's thread to this processor, from 0. No second thread then makes the "
               "ticks for which it is late.",
           .high = 1023},
          {"spin", "US", "0",
           .words = "The loop wakes so many microseconds before each deadline and waits awake.",
           .high = GW_SPIN_MAX_US}},
     .run = command_serve},
    {"solve", "FILE", "-: standard input",
     .words = "One positioning problem (JSON; -: standard input) to its solution. Every status is "
              "an answer and exits 0.",
     .run = command_solve},
    {"run", "SCENE",
     .words = "A scene file, or a bundled scene by name, without a server: deterministic, operated "
              "by the scene's own script. Standard output holds the summary alone, as JSON: "
              "among it the events, each kind of a body once, with a count.",
     .options = {{"seconds", "S", "10, or until the task ends", .words = "How long.", .high = 1e6},
                 {"task", "ID", .words = "Runs a task of the scene, until it ends."},
                 {"csv", "FILE", .words = "Writes a row a tick."},
                 {"wrenches",
                  .words =
                      "Adds what every joint bears to the CSV: columns ID.fx .. ID.tz, of b "
                      "on a, world axes, about the origin of a's frame; then of every link of "
                      "a mechanism, MECHANISM.NUMBER.fx .. .tz, of its parent on it, about the "
                      "origin of its frame."},
                 {"bodies", "FILE",
                  .words = "Writes where everything that can move is, a row a tick."},
                 {"collisions", "FILE",
                  .words = "Writes a row a collision: contacts that collided at once, kinetic "
                           "energy of what takes part before and after (J), impulse (N s)."},
                 {"device", "FILE",
                  .words = "Writes the wrench that an impedance device exerts, and the impulsive "
                           "part of it, a row a tick."},
                 {"record", "FILE.mcap",
                  .words = "Writes an MCAP recording: every tick's sample and poses, the events, "
                           "the scene and its shapes, as JSON, for viewers of such files."},
                 {"real-time", .words = "A tick a period, not as fast as it can."}},
     .run = command_run},
    {"assemble", "SCENE",
     .words = "Brings the parts of a scene from where the file has them to where all constraints "
              "and joints hold. Standard output holds what came of it, as JSON.",
     .options = {{"out", "FILE", .words = "Writes the assembled scene."},
                 {"method", "METHOD", "auto",
                  .words = "auto, gradient, newton or lm (Levenberg and Marquardt's)."},
                 {"ground", "ID,..", "what is fixed", .words = "Objects that stand."},
                 {"seed", "N", "1", .words = "Of the random starts that follow the first one.",
                  .high = 9007199254740992},
                 {"csv", "FILE", .words = "Writes a row an iteration."},
                 {"bodies", "FILE", .words = "Writes where the objects are, a row an iteration."}},
     .run = command_assemble},
    {"surface", "FILE", "-: standard input",
     .words = "A free-form curve or surface (JSON: fit, loft, revolve, sweep or convert; -: "
              "standard input) to its geometry.",
     .run = command_surface},
    {"import", "FILE", "-: standard input",
     .words =
         "A robot description (URDF; -: standard input) to a mechanism (JSON), or to an object "
         "where nothing of it moves.",
     .options = {{"tip", "LINK", .words = "The link that a hand is to hold: the mechanism's tip."}},
     .run = command_import},
    {"selftest", "[SCENE]",
     .words = "Is this machine fit for a loop? A scene runs in real time beside a bare thread that "
              "only sleeps until its deadlines. The verdict is JSON on standard output, in words "
              "on standard error. 0 where the machine is fit, 1 where it is not.",
     .options = {{"seconds", "S", "10", .words = "How long.", .low = 0.5, .high = 3600},
                 {"rate", "HZ", "what the scene says", .words = "Of the loop.",
                  .low = GW_RATE_MIN_HZ, .high = GW_RATE_MAX_HZ},
                 {"bare", .words = "The bare thread alone, without a verdict."}},
     .run = command_selftest},
    {"bench", "[NAME]", .words = "The benchmark table, or the rows whose name begins so.",
     .options = {{"csv", "FILE", .words = "Writes the table there as well."}},
     .run = command_bench},
    {"routes", .words = "The routes of REST.", .run = command_routes, .hidden = true},
    {"openapi", .words = "The OpenAPI document.", .run = command_openapi, .hidden = true},
    {"man", "[COMMAND]", .words = "A manual page, as roff.", .run = command_man, .hidden = true},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

static const char about[] =
    "Guideway: constrained motion, from picked features to a submanifold you can feel.";

/* ---- help ---------------------------------------------------------------------------------- */

/* "guideway run SCENE [--seconds S] ..." */
static void print_synopsis(const cli_command *c, FILE *out)
{
    fprintf(out, "guideway %s%s%s", c->name, c->argument ? " " : "",
            c->argument ? c->argument : "");
    for (const command_option *o = c->options; o->name; o++)
        fprintf(out, " [--%s%s%s]", o->name, o->value ? " " : "", o->value ? o->value : "");
}

/* Prints text in lines of at most 90 columns, each indented by `indent` blanks. */
static void print_wrapped(const char *text, int indent, FILE *out)
{
    int column = 0;
    while (*text) {
        int size = (int)strcspn(text, " ");
        if (column > 0 && column + 1 + size > 90) {
            fputc('\n', out);
            column = 0;
        }
        column += column > 0 ? fprintf(out, " %.*s", size, text)
                             : fprintf(out, "%*s%.*s", indent, "", size, text);
        text += size;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_usage(const cli_command *c, FILE *out)
{
    fputs("usage: ", out);
    print_synopsis(c, out);
    fputc('\n', out);
    print_wrapped(c->words, 2, out);
    for (const command_option *o = c->options; o->name; o++) {
        char left[48];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->value ? " " : "",
                 o->value ? o->value : "");
        fprintf(out, "  %-20s %s%s%s%s\n", left, o->words, o->standard ? " Otherwise " : "",
                o->standard ? o->standard : "", o->standard ? "." : "");
    }
}

static void print_help(FILE *out)
{
    fprintf(out, "%s\n\n", about);
    for (int i = 0; i < COMMANDS; i++) {
        if (commands[i].hidden)
            continue;
        fputs("  ", out);
        print_synopsis(&commands[i], out);
        fputc('\n', out);
        print_wrapped(commands[i].words, 6, out);
    }
    fputs("  guideway --help | --version | COMMAND --help\n\n"
          "Exit codes: 0 done; 1 the work failed; 2 bad usage or bad input.\n",
          out);
}

/* ---- manual pages -------------------------------------------------------------------------- */

/* Prints text for roff: dashes become minus signs, and no line begins with a control character. */
static void print_roff(const char *text)
{
    for (; *text; text++)
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else
            putchar(*text);
}

static void print_roff_options(const cli_command *c)
{
    for (const command_option *o = c->options; o->name; o++) {
        printf(".TP\n.B \\-\\-");
        print_roff(o->name);
        if (o->value)
            printf(" \\fI%s\\fR", o->value);
        putchar('\n');
        print_roff(o->words);
        if (o->standard) {
            fputs(" Otherwise ", stdout);
            print_roff(o->standard);
            putchar('.');
        }
        putchar('\n');
    }
}

static void print_roff_synopsis(const cli_command *c)
{
    printf(".B guideway %s\n", c->name);
    if (c->argument)
        printf(".I %s\n", c->argument);
    for (const command_option *o = c->options; o->name; o++) {
        fputs("[\\fB\\-\\-", stdout);
        print_roff(o->name);
        printf("\\fR%s%s\\fR]\n", o->value ? " \\fI" : "", o->value ? o->value : "");
    }
}

static void print_page(const cli_command *c)
{
    printf(".TH GUIDEWAY%s%s 1 \"\" \"Guideway %s\"\n.SH NAME\nguideway%s%s \\- ", c ? "\\-" : "",
           c ? c->name : "", GUIDEWAY_VERSION, c ? "\\-" : "", c ? c->name : "");
    char brief[120]; /* the first clause of the description */
    const char *words = c ? c->words : about;
    snprintf(brief, sizeof brief, "%.*s", (int)strcspn(words, ".:("), words);
    print_roff(brief);
    fputs("\n.SH SYNOPSIS\n", stdout);
    for (int i = 0; i < COMMANDS; i++)
        if (c == &commands[i] || (!c && !commands[i].hidden)) {
            print_roff_synopsis(&commands[i]);
            puts(".br");
        }
    if (c) {
        fputs(".SH DESCRIPTION\n", stdout);
        print_roff(c->words);
        fputs(c->options[0].name ? "\n.SH OPTIONS\n" : "\n", stdout);
        print_roff_options(c);
    }
    if (!c)
        fputs(".SH COMMANDS\n", stdout);
    for (int i = 0; !c && i < COMMANDS; i++)
        if (!commands[i].hidden) {
            printf(".TP\n.BR guideway\\-%s (1)\n", commands[i].name);
            print_roff(commands[i].words);
            putchar('\n');
        }
    fputs(".SH EXIT STATUS\n0 done; 1 the work failed; 2 bad usage or bad input.\n", stdout);
}

static const cli_command *find_command(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0)
            return &commands[i];
    return NULL;
}

static int command_man(const command_line *line)
{
    const cli_command *c = line->argument ? find_command(line->argument) : NULL;
    if (line->argument && (!c || c->hidden)) {
        fprintf(stderr, "guideway: there is no command \"%s\"\n", line->argument);
        return EXIT_BAD_INPUT;
    }
    print_page(c);
    return fflush(stdout) == 0 ? EXIT_DONE : EXIT_WORK_FAILED;
}

/* ---- parsing ------------------------------------------------------------------------------- */

static int index_of(const cli_command *c, const char *option)
{
    for (int i = 0; i < COMMAND_OPTIONS && c->options[i].name; i++)
        if (strcmp(c->options[i].name, option) == 0)
            return i;
    return -1;
}

const char *command_value(const command_line *line, const char *option)
{
    int index = index_of(line->command, option);
    assert(index >= 0);
    return line->values[index];
}

double command_number(const command_line *line, const char *option, double otherwise)
{
    const char *value = command_value(line, option);
    return value ? strtod(value, NULL) : otherwise;
}

/* False with a message where the option does not accept the value. */
static bool check_option(const command_option *o, const char *value)
{
    char *end;
    double number = strtod(value, &end);
    if (o->high == 0 || (*value && !*end && number >= o->low && number <= o->high))
        return true;
    fprintf(stderr, "guideway: --%s takes %.10g to %.10g, not \"%s\"\n", o->name, o->low, o->high,
            value);
    return false;
}

/* Prints the message for an unexpected word; `o` is the option that it names, NULL: none. */
static void refuse_word(const cli_command *c, const char *word, const command_option *o)
{
    if (o && o->value)
        fprintf(stderr, "guideway: --%s needs a value: --%s %s\n", o->name, o->name, o->value);
    else if (o)
        fprintf(stderr, "guideway: --%s takes no value\n", o->name);
    else
        fprintf(stderr, "guideway: %s does not take \"%s\"\n", c->name, word);
    print_usage(c, stderr);
}

/* Parses one word, and the next one where it is an option's value; returns their number, 0 after a
 * message. */
static int take_word(command_line *line, int argc, char **argv)
{
    const cli_command *c = line->command;
    const char *word = argv[0], *equals = strchr(word, '=');
    char name[32];
    const command_option *o = NULL;
    if (word[0] != '-' || !word[1]) {
        if (c->argument && !line->argument) {
            line->argument = word;
            return 1;
        }
    } else if (strncmp(word, "--", 2) == 0) {
        snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - word - 2) : 31, word + 2);
        int index = index_of(c, name);
        o = index >= 0 ? &c->options[index] : NULL;
        const char *value = !o || !o->value ? word
                            : equals        ? equals + 1
                            : argc > 1      ? argv[1]
                                            : NULL;
        if (o && value && !(equals && !o->value)) {
            line->values[index] = value;
            return !check_option(o, value) ? 0 : o->value && !equals ? 2 : 1;
        }
    }
    refuse_word(c, word, o);
    return 0;
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int carry_out(const cli_command *c, int argc, char **argv)
{
    command_line line = {.command = c};
    assert(!c->options[COMMAND_OPTIONS].name);
    for (int i = 0; i < argc; i++)
        if (asks_for_help(argv[i])) {
            print_usage(c, stdout);
            return fflush(stdout) == 0 ? EXIT_DONE : EXIT_WORK_FAILED;
        }
    for (int i = 0, taken; i < argc; i += taken) {
        taken = take_word(&line, argc - i, argv + i);
        if (taken == 0)
            return EXIT_BAD_INPUT;
    }
    if (line.argument || !c->argument || c->argument[0] == '[')
        return c->run(&line);
    fputs("guideway: usage: ", stderr);
    print_synopsis(c, stderr);
    fprintf(stderr, "%s%s%s\n", c->note ? " (" : "", c->note ? c->note : "", c->note ? ")" : "");
    return EXIT_BAD_INPUT;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const cli_command *c = find_command(name);
    wire_watch_memory();
    if (c)
        return carry_out(c, argc - 2, argv + 2);
    if (asks_for_help(name) || strcmp(name, "help") == 0) {
        print_help(stdout);
        return fflush(stdout) == 0 ? EXIT_DONE : EXIT_WORK_FAILED;
    }
    if (strcmp(name, "--version") == 0) {
        puts("guideway " GUIDEWAY_VERSION);
        return EXIT_DONE;
    }
    if (name[0])
        fprintf(stderr, "guideway: there is no command \"%s\"\n", name);
    print_help(stderr);
    return EXIT_BAD_INPUT;
}
