package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/user"
	"strconv"
	"time"

	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// Jobs is what is known about tickets, open and done; a *queue.Queue is one.
type Jobs interface {
	Jobs(ctx context.Context, f queue.Filter) ([]queue.Job, error)
	Job(ctx context.Context, id uint64) (queue.Job, ticket.Ticket, []byte, error)
}

// Desk is where a person changes what becomes of a ticket; a *queue.Queue is one.
type Desk interface {
	Reprint(ctx context.Context, id uint64, station, reason string) (uint64, error)
	Move(ctx context.Context, ids []uint64, to string) ([]uint64, error)
	MoveAll(ctx context.Context, from, to string) ([]uint64, error)
	Cancel(ctx context.Context, id uint64, reason string) error
}

// StationQueues are the stations' queues; a *queue.Queue is one.
type StationQueues interface {
	Stations() []queue.StationState
	HoldStation(ctx context.Context, station, reason string) error
	ResumeStation(ctx context.Context, station string) error
}

// Tester puts a test ticket into a station's queue.
type Tester interface {
	TestTicket(ctx context.Context, station string) (job uint64, err error)
}

// Rejects keeps the last refused print requests, newest first; a *receiver.Rejects does.
type Rejects interface{ List() []Reject }

// Options is what a [Server] may ask and change. Jobs, Desk and Stations are required; a
// part that is nil answers [Unsupported] or is left out. All of it is called from many
// goroutines at once. An error that is an [*Error], or one of the queue's, keeps its
// meaning on the way to the caller; any other is [Internal].
type Options struct {
	Jobs     Jobs
	Desk     Desk
	Stations StationQueues
	Tester   Tester
	Rejects  Rejects
	Displays Displays // the screens
	Reload   func(ctx context.Context) (Reloaded, error)
	Statuses func() []Status // how each station is now
	Notices  func() []string // what a person must know: a database set aside, a full disk
	Logger   *slog.Logger    // nil: nowhere
}

const (
	maxBody     = 1 << 20 // of a request: some 90,000 job ids
	maxRequests = 16      // at once
	maxHandling = 20 * time.Second
)

// A Server answers what people ask of the daemon.
type Server struct {
	o     Options
	slots chan struct{}
	mux   *http.ServeMux
}

// New returns a Server, or an error that names the option that is missing.
func New(o Options) (*Server, error) {
	for name, missing := range map[string]bool{"Jobs": o.Jobs == nil, "Desk": o.Desk == nil, "Stations": o.Stations == nil} {
		if missing {
			return nil, fmt.Errorf("make admin server: Options.%s is missing", name)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, slots: make(chan struct{}, maxRequests), mux: http.NewServeMux()}
	for pattern, h := range map[string]handler{
		"GET /v1/jobs":                    s.jobs,
		"GET /v1/jobs/{id}":               s.job,
		"POST /v1/jobs/{id}/reprint":      s.reprint,
		"POST /v1/jobs/{id}/cancel":       s.cancel,
		"POST /v1/move":                   s.move,
		"GET /v1/stations":                s.stations,
		"POST /v1/stations/{name}/test":   s.test,
		"POST /v1/stations/{name}/hold":   s.hold,
		"POST /v1/stations/{name}/resume": s.resume,
		"GET /v1/screens":                 s.screens,
		"POST /v1/screens/pair":           s.pair,
		"POST /v1/pairings/{id}/revoke":   s.revoke,
		"GET /v1/rejects":                 s.rejects,
		"GET /v1/rejects/{id}":            s.reject,
		"POST /v1/reload":                 s.reload,
	} {
		s.mux.Handle(pattern, h)
	}
	return s, nil
}

// HTTPServer is a server for s, not yet started, with every time-out set.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      time.Minute, // a list of all jobs, read slowly
		IdleTimeout:       30 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelWarn),
		ConnContext:       withActor,
	}
}

// ServeHTTP checks the caller's version and hands on, to so many at once.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(HeaderAPI, API)
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		answer(w, nil, refuse(Busy, "the daemon is answering %d requests already: try again", maxRequests))
		return
	}
	if v := r.Header.Get(HeaderAPI); v != API {
		answer(w, nil, mismatch(v, API))
		return
	}
	if _, pattern := s.mux.Handler(r); pattern == "" {
		answer(w, nil, refuse(Unsupported, "this daemon does not know %s %s", r.Method, r.URL.Path))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxHandling)
	defer cancel()
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r.WithContext(ctx))
}

func mismatch(caller, daemon string) *Error {
	if caller == "" {
		return refuse(Mismatch, "the caller names no control API version in %s: use the ticketrail command line", HeaderAPI)
	}
	return refuse(Mismatch, "this command speaks control API %s and the running daemon speaks %s: after an upgrade restart the daemon (systemctl restart ticketrail)", caller, daemon)
}

// A handler returns what to answer as JSON.
type handler func(r *http.Request) (any, error)

func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v, err := h(r)
	answer(w, v, err)
}

func answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		e := refusal(err)
		w.WriteHeader(e.Code.status())
		v = struct {
			Error *Error `json:"error"`
		}{e}
	}
	// A caller who has gone away is nobody's problem.
	_ = json.NewEncoder(w).Encode(v)
}

// read decodes a request's body, strictly: a misspelt key must not be a wish ignored.
func read(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil && !errors.Is(err, io.EOF) {
		return refuse(BadRequest, "read request: %v", err)
	}
	return nil
}

func pathID(r *http.Request) (uint64, error) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0, refuse(BadRequest, "%q is not an id: ids are whole numbers", r.PathValue("id"))
	}
	return id, nil
}

func (s *Server) notices() []string {
	if s.o.Notices == nil {
		return nil
	}
	return s.o.Notices()
}

func (s *Server) reload(r *http.Request) (any, error) {
	if s.o.Reload == nil {
		return nil, refuse(Unsupported, "this daemon cannot reload: restart it")
	}
	done, err := s.o.Reload(r.Context())
	if err != nil {
		return nil, err
	}
	s.changed(r, "reload")
	return done, nil
}

// changed writes down who changed what. Refused changes are only told to the caller.
func (s *Server) changed(r *http.Request, action string, args ...any) {
	s.o.Logger.Info("changed by hand", append([]any{"action", action, "actor", actor(r.Context())}, args...)...)
}

// because is the reason to keep with a change: the one given, or who made it.
func because(r *http.Request, reason string) string {
	if reason != "" {
		return reason
	}
	return "by " + actor(r.Context())
}

type actorKey struct{}

// withActor keeps the uid alone: looking its name up may ask a server far away, and only
// changes need it.
func withActor(ctx context.Context, c net.Conn) context.Context {
	if uid, ok := peer(c); ok {
		return context.WithValue(ctx, actorKey{}, uid)
	}
	return ctx
}

func actor(ctx context.Context) string {
	uid, ok := ctx.Value(actorKey{}).(uint32)
	if !ok {
		return "somebody"
	}
	n := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(n); err == nil {
		return u.Username
	}
	return "uid " + n
}
