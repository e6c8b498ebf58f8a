package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"ticketrail/config"
	"ticketrail/printer/virtual"
	"ticketrail/receiver/sim"
)

const (
	otherVenue   = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a22"
	clientSecret = "s3cr3t-of-the-integrator"
	seed         = 7
	refreshTime  = 10 * time.Second // after a start or a reload the directory is complete
)

// withService connects the daemon with the simulated service.
func withService(k *testDaemon, o sim.Options) *sim.Service {
	o.Prefix, o.ClientID, o.ClientSecret, o.Seed = "/api", "me", clientSecret, seed
	if o.Venues == nil {
		o.Venues = []sim.Venue{{ID: venueID, Employees: 100, Zone: "America/New_York"}}
	}
	s := sim.New(o)
	l := virtual.NewNetwork()
	server := &http.Server{Handler: s.Handler()}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	through := &http.Transport{DialContext: l.Dial}
	k.t.Cleanup(func() {
		through.CloseIdleConnections()
		server.Close()
		<-ended
	})
	k.service = through
	k.configureService()
	return s
}

// configureService sets the section service of the configuration.
func (k *testDaemon) configureService() {
	name := filepath.Join(filepath.Dir(k.conf.Storage.Path), "secret")
	if err := os.WriteFile(name, []byte(clientSecret+"\n"), 0o600); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { time.Sleep(time.Minute) }) // until a request for a token has timed out
	s := &k.conf.Service
	s.BaseURL, s.ClientID, s.ClientSecretFile = "http://127.0.0.1/api", "me", name
	s.Secret, _ = s.ReadSecret()
}

// orderBy posts an order of an employee of the venue.
func (k *testDaemon) orderBy(number, employee string) {
	k.t.Helper()
	got := k.send(fmt.Sprintf(
		`{"records":[{"id":%q,"orderNumber":%q,"checkOwnerEmployeeId":%q,"items":[{"name":"Burger"}]}]}`,
		uuid.NewString(), number, employee))
	if got != `200 {"status":"SUCCESS","duplicate":false` {
		k.t.Fatalf("order %s got %s", number, got)
	}
}

// lastTicket is the server and the time on the newest ticket of the grill.
func (k *testDaemon) lastTicket() (server, clock string) {
	k.t.Helper()
	k.advance(time.Second)
	tickets := k.printers["grill"].Tickets()
	if len(tickets) == 0 {
		k.t.Fatal("there is no ticket")
	}
	for line := range strings.Lines(tickets[len(tickets)-1].Text) {
		if _, rest, ok := strings.Cut(line, "Server "); ok {
			server, _, _ = strings.Cut(rest, "  ")
		}
		for word := range strings.FieldsSeq(line) {
			if len(word) == 5 && word[2] == ':' {
				clock = word
			}
		}
	}
	if server == "" || clock == "" {
		k.t.Logf("the ticket is\n%s", tickets[len(tickets)-1].Text)
	}
	return strings.TrimSpace(server), clock
}

// employee is the nth employee of the venue whose name the printer can print in its code pages.
func employee(n int) sim.Employee {
	for i := range 100 {
		e := sim.Staff(seed, venueID, i)
		if regexp.MustCompile(`^[A-Z][A-Za-z]+ [A-Za-z]\.$`).MatchString(e.Name) {
			if n--; n < 0 {
				return e
			}
		}
	}
	panic("not enough employees")
}

func (k *testDaemon) wantServer(who int, want string) {
	k.t.Helper()
	k.orderBy("N", employee(who).ID)
	if got, _ := k.lastTicket(); got != want {
		k.t.Errorf("server %q, want %q", got, want)
	}
}

func idSuffix(n int) string { id := employee(n).ID; return id[len(id)-4:] }

func clockIn(zone string) string {
	z, err := time.LoadLocation(zone)
	if err != nil {
		panic(err)
	}
	return time.Now().In(z).Format("15:04")
}

func TestTicketsShowTheNamesAndTheTimeOfTheService(t *testing.T) {
	setup := func(k *testDaemon) {
		withService(k, sim.Options{})
		k.conf.Venues[0].Timezone = ""
		k.printer("grill").Confirm, k.noPause = "none", true
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		k.orderBy("A1", employee(0).ID)
		if server, clock := k.lastTicket(); server != idSuffix(0) || clock != clockIn("UTC") {
			k.t.Errorf("before anything is known: %q %q", server, clock)
		}
		k.advance(refreshTime)
		k.orderBy("A2", strings.ToUpper(employee(0).ID))
		if server, clock := k.lastTicket(); server != employee(0).Name || clock != clockIn("America/New_York") {
			k.t.Errorf("%q %q, want %q %q", server, clock, employee(0).Name, clockIn("America/New_York"))
		}
		k.reload(func(c *config.Config) {
			c.Venues = []config.Venue{{ID: venueID, Name: "Harbour Grill", Timezone: "Asia/Tokyo"}}
		})
		k.orderBy("A3", "unknown-employee-9999")
		if server, clock := k.lastTicket(); server != "9999" || clock != clockIn("Asia/Tokyo") {
			k.t.Errorf("with a configured time zone: %q %q", server, clock)
		}
	}, "grill")
}

func TestNamesAndTimeZonesSurviveARestartWithoutTheService(t *testing.T) {
	setup := func(k *testDaemon) {
		withService(k, sim.Options{})
		k.conf.Venues[0].Timezone = ""
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		k.advance(refreshTime)
		k.shutDown()
		k.service = hanging{}
		k.start()
		k.orderBy("A1", employee(1).ID)
		if server, clock := k.lastTicket(); server != employee(1).Name || clock != clockIn("America/New_York") {
			k.t.Errorf("%q %q", server, clock)
		}
	}, "grill")
}

// hanging never answers; refusing fails at once.
type (
	hanging  struct{}
	refusing struct{}
)

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// timings are the times that a start, an answer, a ticket and a stop take, by the bubble's clock.
func (k *testDaemon) timings() string {
	var out strings.Builder
	step := func(name string, f func()) {
		began := time.Now()
		f()
		fmt.Fprintf(&out, "%s %v\n", name, time.Since(began).Round(100*time.Millisecond))
	}
	orders := func(what string) {
		had := len(k.printers["grill"].Tickets())
		step("answer "+what, func() { k.orderBy("A1", employee(1).ID) })
		step("ticket "+what, func() {
			for out := had; out == had; out = len(k.printers["grill"].Tickets()) {
				k.advance(100 * time.Millisecond)
			}
		})
	}
	k.shutDown()
	step("start", k.start)
	orders("at once")
	k.advance(time.Minute) // during the refresh
	orders("later")
	k.advance(7 * time.Hour) // idle connections are closed
	orders("in the evening")
	step("stop", k.shutDown)
	k.start()
	step("stop of what has just begun", k.shutDown)
	k.start()
	k.advance(2 * time.Second) // during the first request
	step("stop while it asks", k.shutDown)
	k.start()
	return out.String()
}

func TestAServiceThatFailsOrHangsDelaysNothing(t *testing.T) {
	var alone string
	runDaemon(t, func(k *testDaemon) { alone = k.timings() }, "grill")
	t.Log("without a service:\n" + alone)
	for name, setup := range map[string]func(*testDaemon){
		"hangs":   func(k *testDaemon) { k.service = hanging{}; k.configureService() },
		"refuses": func(k *testDaemon) { k.service = refusing{}; k.configureService() },
		"has a secret that is gone": func(k *testDaemon) {
			k.service = refusing{}
			k.configureService()
			k.conf.Service.ClientSecretFile = "/gone"
		},
		"hangs after the token": func(k *testDaemon) {
			withService(k, sim.Options{}).Fault(sim.Fault{Call: sim.CallEmployees, Kind: sim.Hang})
		},
		"is slow": func(k *testDaemon) {
			withService(k, sim.Options{}).Fault(sim.Fault{Kind: sim.Slow, For: 9 * time.Second})
		},
		"is broken": func(k *testDaemon) {
			withService(k, sim.Options{}).Fault(sim.Fault{Kind: sim.Answers, Status: 503})
		},
		"is another": func(k *testDaemon) { withService(k, sim.Options{}).Fault(sim.Fault{Kind: sim.NonJSON}) },
		"works":      func(k *testDaemon) { withService(k, sim.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			runDaemonWith(t, setup, func(k *testDaemon) {
				if got := k.timings(); got != alone {
					k.t.Errorf("got\n%swithout a service it is\n%s", got, alone)
				}
			}, "grill")
		})
	}
}

func TestAReloadChangesWhatTheServiceIsAskedAbout(t *testing.T) {
	var s *sim.Service
	setup := func(k *testDaemon) {
		s = withService(k,
			sim.Options{Venues: []sim.Venue{{ID: venueID, Employees: 5}, {ID: otherVenue, Employees: 4}}})
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		known := func() (out string) {
			for _, v := range k.app.Directory().Status() {
				out += fmt.Sprintf("%s:%d ", v.Venue[len(v.Venue)-2:], v.Employees)
			}
			return strings.TrimSpace(out)
		}
		step := func(want string, change func(*config.Config)) {
			k.t.Helper()
			k.reload(change)
			k.advance(refreshTime)
			if got := known(); got != want {
				k.t.Errorf("known are %q, want %q", got, want)
			}
		}
		service := k.conf.Service
		both := []config.Venue{k.conf.Venues[0], {ID: otherVenue, Name: "Seaside", Timezone: "UTC"}}
		step("11:5", func(*config.Config) {})
		tokens := func(want int) {
			k.t.Helper()
			if n, err := testutil.GatherAndCount(k.app.registry,
				"ticketrail_posapi_token_age_seconds"); n != want || err != nil {
				k.t.Errorf("%d tokens have an age, want %d; %v", n, want, err)
			}
		}
		before := s.Requests(sim.CallEmployees)
		step("11:5 22:4", func(c *config.Config) { c.Venues = both })
		step("11:5 22:4", func(c *config.Config) { c.Log.Level = "debug" })
		if n := s.Requests(sim.CallEmployees) - before; n != 1 {
			k.t.Errorf("employees were asked for %d times for one new venue", n)
		}
		s.AddEmployees(otherVenue, 1)
		step("11:5 22:5", func(c *config.Config) { c.Service.Timeout = 9 * time.Second })
		tokens(2)
		step("22:5", func(c *config.Config) { c.Venues = both[1:] })
		tokens(1)
		step("", func(c *config.Config) { c.Service = config.Default().Service })
		tokens(0)
		step("22:5", func(c *config.Config) { c.Service = service })
	}, "grill")
}

func TestANewClientSecretTakesEffectWithAReload(t *testing.T) {
	setup := func(k *testDaemon) {
		withService(k, sim.Options{})
		if err := os.WriteFile(k.conf.Service.ClientSecretFile, []byte("wrong"), 0o600); err != nil {
			k.t.Fatal(err)
		}
		k.conf.Service.Secret, _ = k.conf.Service.ReadSecret()
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		k.advance(6 * time.Hour) // by now it is retried once an hour
		k.wantServer(0, idSuffix(0))
		k.reload(func(c *config.Config) {
			if err := os.WriteFile(c.Service.ClientSecretFile, []byte(clientSecret), 0o600); err != nil {
				k.t.Fatal(err)
			}
			c.Service.Secret, _ = c.Service.ReadSecret()
		})
		k.advance(refreshTime)
		k.wantServer(0, employee(0).Name)
	}, "grill")
}

func TestANewClientSecretTakesEffectWithoutAReload(t *testing.T) {
	var s *sim.Service
	runDaemonWith(t, func(k *testDaemon) { s = withService(k, sim.Options{}) }, func(k *testDaemon) {
		k.advance(time.Hour)
		s.Revoke(venueID)
		hired := s.AddEmployees(venueID, 1)
		k.advance(8 * time.Hour)
		if n, ok := k.app.Directory().Name(venueID, hired[0].ID); !ok {
			k.t.Errorf("the new employee is %q", n)
		}
	}, "grill")
}

func TestTheServiceAndTheDirectoryAreInTheMetrics(t *testing.T) {
	runDaemonWith(t, func(k *testDaemon) { withService(k, sim.Options{}) }, func(k *testDaemon) {
		k.advance(refreshTime)
		for _, name := range []string{"ticketrail_posapi_requests_total", "ticketrail_posapi_token_age_seconds",
			"ticketrail_directory_employees",
			"ticketrail_directory_age_seconds", "ticketrail_directory_refreshes_total"} {
			if n, err := testutil.GatherAndCount(k.app.registry, name); n == 0 || err != nil {
				k.t.Errorf("%s: %d series, %v", name, n, err)
			}
		}
		k.reload(func(c *config.Config) { c.Service.Timeout = 5 * time.Second }) // another client at the same registry
		k.advance(refreshTime)
		if _, err := k.app.registry.Gather(); err != nil {
			k.t.Error(err)
		}
	}, "grill")
}
