package kds_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/deploy/slow"
	"ticketrail/printer/kds"
	"ticketrail/printer/kds/board"
	"ticketrail/printer/layout"
	"ticketrail/queue"
	"ticketrail/queue/ticket"
)

// e2eDatabase is the environment variable that makes this test binary the server of the browser
// tests: it says where the database is. The scripts in e2e start that process, kill it and start it
// again.
const e2eDatabase = "KDS_E2E_DATABASE"

// TestCooksWorkWithScreensInARealBrowser runs the scripts in e2e. They need packages of npm, which .ci/run installs. A
// part of a browser test's name behind -args runs only those; the name of another script runs that one, see speed.mjs.
func TestCooksWorkWithScreensInARealBrowser(t *testing.T) {
	if path := os.Getenv(e2eDatabase); path != "" {
		serveE2E(t, path)
		return
	}
	cache, _ := os.UserCacheDir()
	modules := filepath.Join(cache, "ticketrail", "browser")
	slow.Test(t, "node", "chromium-headless-shell", "firefox-esr",
		filepath.Join(modules, "node_modules", "playwright-core"))
	t.Parallel() // it mostly waits
	self, err := os.Executable()
	assert.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	daemon := filepath.Join(t.TempDir(), "ticketrail")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", daemon, "ticketrail/cmd/ticketrail").CombinedOutput()
	assert.True(t, err == nil, err, string(out))
	script, only := "all.mjs", flag.Arg(0)
	if strings.HasSuffix(only, ".mjs") {
		script, only = only, ""
	}
	run := exec.CommandContext(ctx, "node", "--experimental-websocket", filepath.Join("e2e", script), only)
	run.Env = append(os.Environ(), "KDS_E2E_SERVER="+self, "KDS_E2E_DAEMON="+daemon, "KDS_E2E_TEST="+t.Name(),
		"KDS_E2E_MODULES="+modules,
		"KDS_E2E_SHOTS="+filepath.Join(t.ArtifactDir(), "shots"), "KDS_E2E_WORK="+workFolder(t),
		"KDS_E2E_PAPER="+t.TempDir())
	run.WaitDelay = 10 * time.Second
	out, err = run.CombinedOutput()
	t.Logf("%s", out)
	assert.NoError(t, err)
}

// workFolder is for the databases. It is in memory, because a process is killed and not the machine, and three
// tests that store hundreds of cards would wait for one disk.
func workFolder(t *testing.T) string {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = ""
	}
	dir, err := os.MkdirTemp(base, "kds")
	assert.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// An e2eServer is three screens, and a control port for the scripts.
type e2eServer struct {
	queue    *queue.Queue
	server   *kds.Server
	pairings *kds.Pairings
	screens  map[string]*kds.Screen

	job     atomic.Uint64 // the latest
	printed atomic.Int64  // how many tickets the page wanted on paper
}

func serveE2E(t *testing.T, path string) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	q, err := queue.Open(queue.Options{Path: path, Reserve: -1})
	assert.NoError(t, err)
	k := &e2eServer{queue: q, screens: map[string]*kds.Screen{}}
	k.open(t, log)
	front, err := net.Listen("tcp", ":"+os.Getenv("KDS_E2E_PORT"))
	assert.NoError(t, err)
	control, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("KDS_E2E_CONTROL_PORT"))
	assert.NoError(t, err)
	go func() { _ = http.Serve(control, k.controlHandler()) }()
	fmt.Println("ready")
	assert.NoError(t, errors.Join(serve(ctx, k.server, front), q.Close()))
}

func (k *e2eServer) open(t *testing.T, log *slog.Logger) {
	boards := map[string]*board.Board{}
	look := board.Look{Alarms: layout.NewAlarms(config.Default().Ticket.Alarms).Match}
	for _, name := range []string{"hot-line", "cold", "pass"} {
		b := openBoard(t, name, k.queue.KV("board "+name))
		s := b.Snapshot()
		for _, o := range append(s.Orders, s.Recall...) {
			k.job.Store(max(k.job.Load(), slices.Max(o.Jobs())))
		}
		b.SetLook(look)
		boards[name] = b
	}
	pass, err := board.OpenPass(board.PassOptions{
		Station: "pass", KV: k.queue.KV("pass pass"), Title: func(station string) string { return station },
		Boards: []*board.Board{boards["hot-line"], boards["cold"]}, Logger: log,
	})
	assert.NoError(t, err)
	pass.SetLook(look)
	zone, err := time.LoadLocation("Australia/Melbourne")
	assert.NoError(t, err)
	var displays []kds.ServedScreen
	for _, o := range []kds.ScreenOptions{
		{Name: "hot-line", Title: "Hot line"}, {Name: "cold", Title: "Cold"}, {Name: "pass", Title: "Pass", Pass: pass},
	} {
		o.Board, o.Logger = boards[o.Name], log
		s := kds.NewScreen(o)
		k.screens[o.Name] = s
		displays = append(displays, kds.ServedScreen{Screen: s, Zone: func() *time.Location { return zone },
			Print: func(context.Context, uint64) error { k.printed.Add(1); return nil },
			Keys:  map[string][]string{"all_day": {"F8", "a"}}})
	}
	k.pairings, err = kds.OpenPairings(k.queue.KV("pairings"), log)
	assert.NoError(t, err)
	k.server = kds.NewServer(kds.ServerOptions{Pairings: k.pairings, Logger: log})
	k.server.Set(displays)
}

// controlHandler answers the scripts: it adds tickets, pairs browsers, and reports the state.
func (k *e2eServer) controlHandler() http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, f func(*http.Request) (any, error)) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			v, err := f(r)
			if err != nil {
				http.Error(w, err.Error(), http.StatusTeapot)
				return
			}
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	handle("/put", k.put)
	handle("/status", func(r *http.Request) (any, error) {
		s := k.screens[r.FormValue("station")]
		return map[string]any{"status": s.Status(), "board": s.Board().Snapshot(), "printed": k.printed.Load()}, nil
	})
	handle("/pair", func(r *http.Request) (any, error) {
		return k.server.Pair(r.Context(), r.FormValue("code"), kds.Pairing{Station: r.FormValue("station")}, "a test")
	})
	handle("/pairings", func(*http.Request) (any, error) { return k.pairings.List(), nil })
	handle("/revoke", func(r *http.Request) (any, error) { return k.pairings.Revoke(r.Context(), r.FormValue("id")) })
	return mux
}

// put adds tickets to a board, or, with Print, gives them to the screen as the dispatcher does and
// returns the proof.
func (k *e2eServer) put(r *http.Request) (any, error) {
	var asked struct {
		Station string
		Print   bool
		Tickets []struct {
			ticket.Ticket
			Age int // in seconds
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		return nil, err
	}

	screen := k.screens[asked.Station]
	var proof ticket.Proof
	for _, of := range asked.Tickets {
		d := ticket.Delivery{Job: k.job.Add(1), Station: asked.Station, Attempt: 1, Ticket: of.Ticket}
		d.Ticket.Received = time.Now().UTC().Add(-time.Duration(of.Age) * time.Second)
		d.Ticket.Zone = "Australia/Melbourne"
		d.Ticket.Request = cmp.Or(d.Ticket.Request, fmt.Sprintf("request-%06d", d.Job))

		var err error
		if asked.Print {
			proof, err = screen.Print(r.Context(), d, noBegin)
		} else {
			err = screen.Board().Add(r.Context(), d)
		}
		if err != nil {
			return nil, err
		}
	}

	return map[string]any{"proof": proof}, nil
}
