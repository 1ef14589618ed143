/* Detects whether a question is ambiguous for a SQLite file, and asks the user about two candidate statements.
 * usage: program shop.sqlite "Show the address of each purchase." "SELECT ..." "SELECT ..." */
#include <ambit.h>
#include <stdio.h>
#include <stdlib.h>
/* Prints a result or its error, and frees it. */
static void show(const char *name, char *result, const struct ambit_error *error)
{
    printf("%s: %s\n", name, result ? result : error->text);
    ambit_free(result);
}

int main(int argc, char **argv)
{
    struct ambit_error error;
    struct ambit_detector *detector = ambit_detector_open(NULL, &error);
    char request[4096], answer[80];

    if (argc != 5 || !detector) {
        fprintf(stderr, "%s\n", detector ? "expected DB QUESTION SQL SQL" : error.text);
        return EXIT_FAILURE;
    }
    show("prediction", ambit_detect(detector, argv[1], argv[2], &error), &error);
    ambit_detector_close(detector);

    /* The arguments must need no escapes in JSON; a longer program uses a JSON library. */
    snprintf(request, sizeof request,
             "{\"db\": \"%s\", \"record\": {\"question\": \"%s\", \"candidates\": [\"%s\", \"%s\"]}}", argv[1], argv[2],
             argv[3], argv[4]);
    struct ambit_session *session = ambit_session_open(request, &error);
    if (!session) {
        fprintf(stderr, "%s\n", error.text);
        return EXIT_FAILURE;
    }
    show("question", ambit_session_state(session, &error), &error);
    while (fgets(answer, sizeof answer, stdin))
        show("state", ambit_session_answer(session, answer, &error), &error);
    ambit_session_close(session);
    return EXIT_SUCCESS;
}
