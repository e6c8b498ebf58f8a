package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/user"
	"strconv"
	"strings"
	"time"

	"ticketrail/cmd/internal/finding"
	"ticketrail/printer/layout"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
	"ticketrail/receiver"
)

// Options are the parts of the daemon that a [Server] asks and changes. All fields are required, and all of them must
// be safe for concurrent use. An error that is an [*Error] or one of the queue's reaches the client with
// its code; any other becomes [Internal].
type Options struct {
	Queue *queue.Queue
	// Kick ends the backoff of a station, so that its next attempt starts now.
	Kick    func(station string)
	Rejects *receiver.Rejects
	// PrintLate prints a refused request, see [receiver.Receiver.PrintLate].
	PrintLate func(ctx context.Context, one Reject, lenient bool) (ticket.Receipt, error)
	Displays  Displays                 // the screens
	Stations  func() []finding.Station // each, with its queue; orphans too
	// Probe asks the printer of a configured station for its capability, and returns its state afterwards. An
	// [*Error] with [Conflict] if the station has no printer that can be asked.
	Probe func(ctx context.Context, station string) (finding.DeviceStatus, error)
	// Findings are everything that was found, the worst first.
	Findings func(ctx context.Context) ([]finding.Finding, error)
	// Fields says how the fields of orders are used.
	Fields func() Fields
	// Zone is the kitchen's time zone; the zone of the box if it is not known.
	Zone func() *time.Location
	// Layout is how the paper of a station looks, for the page for managers.
	Layout     func(station string) (layout.Options, error)
	ConfigPath string // of the configuration file, which Settings changes; "": there is none
	Settings   Settings
	Logger     *slog.Logger
}

const (
	maxBody     = 1 << 20 // bytes of a request: about 90,000 job ids
	maxRequests = 16      // at the same time: answers take memory that the queue may need
	// requestTimeout is below the client's time-out of a minute, so that the operator gets the daemon's reason and not
	// only "no answer". The question for a printer's capability may take 25 s until one counts as silent, and a fence
	// some 10 s more.
	requestTimeout = 50 * time.Second
	pageTimeout    = 20 * time.Second // for a client to read a part of a list of jobs
	listTimeout    = 10 * time.Minute // for all of that list
	backupTimeout  = time.Minute      // for a client to read a part of a backup: its disk is slow
)

// A Server answers the requests of the control API. It is safe for concurrent use. The version of a request
// is checked first, then it takes a slot, then its route is checked, and the handler runs under a time limit.
// Each handler is one function that returns its answer or an error, so there is one place that
// writes answers.
type Server struct {
	o     Options
	slots chan struct{} // one element for each request in progress
	mux   *http.ServeMux
	page  *http.ServeMux // see [Server.ServePage]
}

const listRoute = "GET /v1/jobs"

// New returns a Server. The paths begin with /v1 and stay, whatever [API] says: the version is a
// header, so that any client gets a readable refusal.
func New(o Options) *Server {
	server := &Server{o: o, slots: make(chan struct{}, maxRequests), mux: http.NewServeMux()}
	for pattern, h := range map[string]handler{
		"GET /v1/jobs/{id}":               server.job,
		"POST /v1/jobs/{id}/reprint":      withBody(server.reprint),
		"POST /v1/jobs/{id}/cancel":       withBody(server.cancel),
		"POST /v1/move":                   withBody(server.move),
		"GET /v1/overview":                func(r *http.Request) (any, error) { return server.Overview(r.Context()) },
		"GET /v1/fields":                  func(*http.Request) (any, error) { return server.o.Fields(), nil },
		"GET /v1/zone":                    func(*http.Request) (any, error) { return zoneBody{server.zoneName()}, nil },
		"GET /v1/stations":                server.stations,
		"POST /v1/stations/{name}/test":   server.test,
		"POST /v1/stations/{name}/hold":   withBody(server.hold),
		"POST /v1/stations/{name}/resume": withBody(server.resume),
		"POST /v1/stations/{name}/probe":  server.probe,
		"GET /v1/screens":                 func(*http.Request) (any, error) { return server.o.Displays.Screens(), nil },
		"POST /v1/screens/pair":           withBody(server.pair),
		"POST /v1/pairings/{id}/revoke":   server.revoke,
		"GET /v1/rejects":                 server.rejects,
		"GET /v1/rejects/{id}":            server.reject,
		"POST /v1/rejects/{id}/print":     withBody(server.printReject),
	} {
		server.mux.Handle(pattern, h)
	}

	server.mux.HandleFunc("GET /v1/database", server.database)
	server.mux.HandleFunc(listRoute, server.jobs)
	server.page = server.pageRoutes()
	return server
}

// HTTPServer is an HTTP server for s, not started, with every time-out set.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      time.Minute, // a list of all jobs, read slowly
		ErrorLog:          slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelWarn),
		ConnContext:       withActor,
	}
}

// ServeHTTP checks the client's version and calls the handler of the route. More than maxRequests at
// the same time are refused; requests of the page for managers count too.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// First, so that refusals have it too: without it the client would say that another
	// program answers.
	w.Header().Set(HeaderAPI, API)

	// Before the route: an old daemon that lacks a new route would otherwise answer only that it
	// does not know it.
	if v := r.Header.Get(HeaderAPI); v != API {
		answer(w, nil, mismatch(v, API))
		return
	}
	s.serve(s.mux, w, r)
}

// serve calls the handler of the route in mux.
func (s *Server) serve(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	// Before it takes a slot, so that a client that sends its request slowly keeps no one out.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		answer(w, nil, Refuse(BadRequest, "read request: %v", err))
		return
	}

	r.Body = io.NopCloser(bytes.NewReader(body))
	// Answered here, because the mux would answer with text that is not JSON.
	_, pattern := mux.Handler(r)
	if pattern == "" {
		answer(w, nil, Refuse(Unsupported, "this daemon does not know %s %s", r.Method, r.URL.Path))
		return
	}

	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		answer(w, nil, Refuse(Busy, "the daemon is answering %d requests already: try again", maxRequests))
		return
	}

	// A change that is waiting for the disk then may still be committed; the refusal says where to
	// look.
	limit := requestTimeout
	if pattern == listRoute {
		limit = listTimeout
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	mux.ServeHTTP(w, r.WithContext(ctx))
}

// mismatch is used by both ends: each of them checks the other's version.
func mismatch(caller, daemon string) *Error {
	if caller == "" {
		return Refuse(Mismatch, "the request has no control API version in %s: use the ticketrail command line",
			HeaderAPI)
	}
	return Refuse(Mismatch, "this command speaks control API %s and the running daemon speaks %s: "+
		"after an upgrade restart the daemon (systemctl restart ticketrail)", caller, daemon)
}

// A handler returns the answer, which is sent as JSON. An error means that nothing was changed, or
// that its message names the change.
type handler func(r *http.Request) (any, error)

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	result, err := h(r)
	answer(w, result, err)
}

// answer writes v, or the refusal that err stands for. The status 200 is implied.
func answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		e := refusal(err)
		w.WriteHeader(cmp.Or(statuses[e.Code], http.StatusInternalServerError))
		v = struct {
			Error *Error `json:"error"`
		}{e}
	}

	// An error means that the client has disconnected; there is no one left to tell.
	_ = json.NewEncoder(w).Encode(v)
}

// database sends the file of the queue as it is at this moment. A backup that breaks off ends the connection,
// so that the client does not take the part for the whole.
func (s *Server) database(w http.ResponseWriter, r *http.Request) {
	size, err := s.o.Queue.Backup(partWriter{w, backupTimeout})
	switch {
	case err == nil:
		s.logChange(r, "backup", "bytes", size)
	case size == 0:
		answer(w, nil, err)
	default:
		panic(http.ErrAbortHandler)
	}
}

// A partWriter bounds the time in which a client reads each part of an answer, however long the whole answer takes.
type partWriter struct {
	http.ResponseWriter
	within time.Duration
}

func (w partWriter) Write(b []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.within))
	return w.ResponseWriter.Write(b)
}

// withBody decodes the body of a request for h.
func withBody[B any](h func(r *http.Request, b B) (any, error)) handler {
	return func(r *http.Request) (any, error) {
		var b B
		if err := decode(r, &b); err != nil {
			return nil, err
		}
		return h(r, b)
	}
}

// decode reads the body of a request. An unknown key is refused: if it were ignored, a misspelt "from" would change
// which tickets are moved. An empty body is the zero value.
func decode(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return Refuse(BadRequest, "read request: %v", err)
	}
	return nil
}

// pathID is the id in the path; 0, which nothing has, for a text that is none.
func pathID(r *http.Request) uint64 {
	id, _ := strconv.ParseUint(r.PathValue("id"), 10, 64)
	return id
}

// logChange logs each change and its actor. Refused changes are not logged: only the client needs to know.
// It is the only record of a change that leaves no mark on a ticket, such as a resume.
func (s *Server) logChange(r *http.Request, action string, args ...any) {
	s.o.Logger.Info("changed by an operator", append([]any{"action", action, "actor", actor(r.Context())}, args...)...)
}

// maxReason limits an operator's reason, in bytes: it is stored with a ticket, logged, and shown in listings.
const maxReason = 500

// reasonOr is the reason to store with a change: the given one, cut if it is too long, or who made the change. It is
// stored with the job and shown in its note, so that the next shift knows whom to ask.
func reasonOr(r *http.Request, reason string) string {
	if reason == "" {
		return "by " + actor(r.Context())
	}
	return strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
}

type actorKey struct{}

// withActor stores the uid of the client in the context. The user's name is looked up only for a
// change, because the lookup may ask a directory server on the network.
func withActor(ctx context.Context, c net.Conn) context.Context {
	if uid, ok := peer(c); ok {
		return context.WithValue(ctx, actorKey{}, uid)
	}
	return ctx
}

// actor is the name of the user that made the request, as far as it is known: the uid if it has no
// name on this box. Of a page it is the name of its browser.
func actor(ctx context.Context) string {
	if browser, ok := ctx.Value(actorKey{}).(string); ok {
		return browser
	}
	uid, ok := ctx.Value(actorKey{}).(uint32)
	if !ok {
		return "unknown"
	}

	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return "uid " + number
}
