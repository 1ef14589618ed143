/*
 * ambit.h - libambit: detect, tag and clarify ambiguous questions to a database, from C.
 *
 * Requests and results are JSON in UTF-8, with the fields of ambit's records (docs/reference/records.md).
 *
 * Errors are values: a function that fails returns NULL and fills *error, which may be NULL.  The library never exits,
 * installs no signal handler and writes nothing to standard output or standard error.  Like any C library, it aborts
 * when memory for a small object is missing, or at a bug of its own.
 *
 * Strings: arguments are borrowed during the call.  Each returned char * belongs to the caller, who passes it to
 * ambit_free().  ambit_version() returns a constant.
 *
 * Threads: every function may be called from any thread.  Calls on the same handle wait for each other; calls on
 * different handles run at the same time.  Nobody may use a handle during or after its close.
 *
 * Processes: the library starts ambit-sql-worker, which reads the databases, and a thread that watches over it.  A
 * child made by fork() gets AMBIT_FAILURE from every handle-opening or asking call, if its parent had used the library.
 * A program that is started by exec may use it.  A program that waits for any child process sees the worker's end.
 *
 * Stability: functions, codes and struct ambit_error stay the same within a major version of the library's name
 * (libambit.so.0).  Objects may get new fields; ignore those that you do not know.
 */
#ifndef AMBIT_H
#define AMBIT_H

#ifdef __cplusplus
extern "C" {
#endif

#define AMBIT_API __attribute__((visibility("default")))

enum ambit_code {
    AMBIT_OK = 0,
    AMBIT_FAILURE = 1,        /* the system: a process, a file, a forked child */
    AMBIT_USAGE = 2,          /* the request: not JSON, an unknown field, a wrong value */
    AMBIT_DATA = 3,           /* a question, a record, a schema or a database */
    AMBIT_DEVICE = 4,         /* the device */
    AMBIT_MEMORY = 5,         /* too little memory for the model or the request */
    AMBIT_MODEL = 6,          /* the folder of the model */
    AMBIT_ANSWER = 20,        /* session: words without a meaning, or a number without an option */
    AMBIT_UNDO = 21,          /* session: no answer to undo */
    AMBIT_ENDED = 22,         /* session: no question is open */
    AMBIT_CONTRADICTION = 23, /* session: the answer contradicts earlier ones */
};

struct ambit_error {
    int code;        /* enum ambit_code */
    char text[1024]; /* place, value, expected value; UTF-8 */
};

/* The version of the library, such as "0.1.0". */
AMBIT_API const char *ambit_version(void);

/* Frees a string that a function returned.  NULL is allowed. */
AMBIT_API void ambit_free(char *text);

/* Receives messages: level 0 is an error, 1 a warning, 2 information, 3 debugging.  The text is borrowed.  The function
 * is called by any thread that uses the library, and must not call the library. */
typedef void ambit_log_fn(void *user, int level, const char *text);

/* Sets the receiver of all messages of the process; NULL, the initial value, drops them. */
AMBIT_API void ambit_set_log(ambit_log_fn *log, void *user);

/*
 * Detectors (GATekeeper): is a question ambiguous for a schema, and between which elements?
 *
 * settings: NULL for all defaults, or an object with some of these fields.
 *   "model": folder of a detector (default: the detector that comes with ambit).
 *   "adapter": file of ambit-train adapt.
 *   "device": auto, cpu, cuda or cuda:N (default: auto).
 *   "threads": number of CPU threads (default: one for each available processor).
 *   "threshold": decision threshold from 0 to 1 (default: that of the model).
 *   "retriever", "elements", "max_question", "tokens": as the options of ambit-infer detect.
 */
struct ambit_detector;
AMBIT_API struct ambit_detector *ambit_detector_open(const char *settings, struct ambit_error *error);
/* NULL is allowed. */
AMBIT_API void ambit_detector_close(struct ambit_detector *detector);

/* Predicts for one question about a SQLite file.  Returns a prediction (docs/reference/records.md), without
 * "relevance". */
AMBIT_API char *ambit_detect(struct ambit_detector *detector, const char *db, const char *question,
                             struct ambit_error *error);

/*
 * Predicts for many questions.  Returns an array of predictions in the order of the questions.  A question that cannot
 * be scored has {"id", "error"} in its place.
 *
 * request: an object with these fields.
 *   "db": a SQLite file, or a folder of databases.
 *   "schema", in place of "db": the path of a tables.json, or an object that is one entry of it.
 *   "questions": strings, or objects {"id", "db_id", "question"}.  The default id is the place from 1.
 *   "relevance": true adds the relevance of elements (default: false).
 * Questions about a folder, or about a tables.json of several schemas, need a "db_id".
 * Databases stay known between calls, and are read again when they change.  A tables.json is read once.
 */
AMBIT_API char *ambit_detect_many(struct ambit_detector *detector, const char *request, struct ambit_error *error);

/*
 * Taggers (DTE): which words of a question are ambiguous or unanswerable?
 *
 * settings: NULL for all defaults, or an object with some of these fields.
 *   "strategy": heuristic, which needs no model, dte or eta (default: heuristic).
 *   "model": folder of ambit-train tag, for dte and eta; or for dte a detector with a head for words.
 *   "device", "threads", "threshold": as above.
 *   "index_mib": maximum memory for the values of databases, in MiB (default: 1024).
 */
struct ambit_tagger;
AMBIT_API struct ambit_tagger *ambit_tagger_open(const char *settings, struct ambit_error *error);
/* NULL is allowed. */
AMBIT_API void ambit_tagger_close(struct ambit_tagger *tagger);
/* Like ambit_detect() and ambit_detect_many(), for tagged questions.  "relevance" is not allowed. */
AMBIT_API char *ambit_tag(struct ambit_tagger *tagger, const char *db, const char *question, struct ambit_error *error);
AMBIT_API char *ambit_tag_many(struct ambit_tagger *tagger, const char *request, struct ambit_error *error);

/*
 * Sessions (EIG): which of the candidate statements does the user mean?
 *
 * request: an object with "db" or "schema" as above, and with "record" for a new session or "session" for one to
 * continue. "record": {"question", "candidates"}, a list of SQL statements, and "db_id" if there are several databases.
 *   "rules", "session": as in docs/reference/serve-protocol.md, whose replies the functions below return.
 */
struct ambit_session;
AMBIT_API struct ambit_session *ambit_session_open(const char *request, struct ambit_error *error);
/* NULL is allowed. */
AMBIT_API void ambit_session_close(struct ambit_session *session);
/* Returns the state: "ask" is the open question with its options, "best" the most probable statement. */
AMBIT_API char *ambit_session_state(struct ambit_session *session, struct ambit_error *error);
/* Takes an answer to the open question: the number of an option from 1, or words such as "none".  Returns the state. */
AMBIT_API char *ambit_session_answer(struct ambit_session *session, const char *answer, struct ambit_error *error);
/* Takes the last answer back.  Returns the state. */
AMBIT_API char *ambit_session_undo(struct ambit_session *session, struct ambit_error *error);

#ifdef __cplusplus
}
#endif
#endif
