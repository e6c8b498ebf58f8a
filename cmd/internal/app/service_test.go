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

	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/printer/virtual"
	"ticketrail/receiver/sim"
)

func TestTicketsShowTheNamesAndTheTimeOfTheServiceAlsoWithoutItAfterARestart(t *testing.T) {
	setup := func(k *testDaemon) {
		withService(k, sim.Options{})
		k.Conf.Venues[0].Timezone = ""
		k.Printer("grill").Confirm, k.NoPause = "none", true
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		want := func(step, employee, server, zone string) {
			k.T.Helper()
			k.orderBy("A1", employee)
			z, err := time.LoadLocation(zone)
			k.must(err)
			clock := time.Now().In(z).Format("15:04")
			k.Advance(time.Second)
			text := k.lastOf("grill")
			assert.True(k.T, strings.Contains(text, "Server "+server+" ") && strings.Contains(text, " "+clock+" "),
				step, server, clock, text)
		}
		one, two := employee(0), employee(1)
		want("before anything is known", one.ID, one.ID[len(one.ID)-4:], "UTC")
		k.Advance(refreshTime)
		want("later", strings.ToUpper(one.ID), one.Name, "America/New_York")
		k.Stop()
		k.service = hanging
		k.Start()
		want("after a restart", two.ID, two.Name, "America/New_York")
		k.reload(func(c *config.Config) {
			c.Venues = []config.Venue{{ID: venueID, Name: "Harbour Grill", Timezone: "Asia/Tokyo"}}
		})
		want("with a configured time zone", "unknown-employee-9999", "9999", "Asia/Tokyo")
	}, "grill")
}

func TestAServiceThatFailsOrHangsDelaysNothing(t *testing.T) {
	var alone string
	runDaemon(t, func(k *testDaemon) { alone = k.timings() }, "grill")
	t.Log("without a service:\n" + alone)
	for name, setup := range map[string]func(*testDaemon){
		"hangs":   func(k *testDaemon) { k.service = hanging; k.configureService() },
		"refuses": func(k *testDaemon) { k.service = refusing; k.configureService() },
		"has a secret that is gone": func(k *testDaemon) {
			k.service = refusing
			k.configureService()
			k.Conf.Service.ClientSecretFile = "/gone"
		},
		"works": func(k *testDaemon) { withService(k, sim.Options{}) },
	} {
		t.Run(name, func(t *testing.T) {
			runDaemonWith(t, setup, func(k *testDaemon) {
				assert.Equal(k.T, k.timings(), alone)
			}, "grill")
		})
	}
}

func TestAReloadChangesWhatTheServiceIsAskedAbout(t *testing.T) {
	var s *sim.Service
	setup := func(k *testDaemon) {
		s = withService(k,
			sim.Options{Venues: []sim.Restaurant{{ID: venueID, Employees: 5},
				{ID: otherVenue, Employees: 4}}})
	}
	runDaemonWith(t, setup, func(k *testDaemon) {
		known := func() (out string) {
			for _, v := range []string{venueID, otherVenue} {
				if n := k.App.Names().Count(v); n > 0 {
					out += fmt.Sprintf("%s:%d ", v[len(v)-2:], n)
				}
			}
			return strings.TrimSpace(out)
		}
		step := func(want string, change func(*config.Config)) {
			k.T.Helper()
			k.reload(change)
			k.Advance(refreshTime)
			assert.Equal(k.T, known(), want, "known are")
		}
		service := k.Conf.Service
		both := []config.Venue{k.Conf.Venues[0], {ID: otherVenue, Name: "Seaside", Timezone: "UTC"}}
		step("11:5", func(*config.Config) {})
		step("11:5 22:4", func(c *config.Config) { c.Venues = both })
		s.AddEmployees(otherVenue, 1)
		step("11:5 22:5", func(*config.Config) {})
		step("22:5", func(c *config.Config) { c.Venues = both[1:] })
		step("", func(c *config.Config) { c.Service = config.Default().Service })
		step("22:5", func(c *config.Config) { c.Service = service })
	}, "grill")
}

const (
	otherVenue   = "6f1c8f5e-52ad-4a0b-9e9b-2f7b7b7f3a22"
	clientSecret = "s3cr3t-of-the-integrator"
	seed         = 7
	refreshTime  = 10 * time.Second // after a start or a reload the names are known
)

// withService connects the daemon with the simulated service.
func withService(k *testDaemon, o sim.Options) *sim.Service {
	o.Prefix, o.ClientID, o.ClientSecret, o.Seed = "/api", "me", clientSecret, seed
	if o.Venues == nil {
		o.Venues = []sim.Restaurant{{ID: venueID, Employees: 100, Zone: "America/New_York"}}
	}
	s := sim.New(o)
	l := virtual.NewNetwork()
	server := &http.Server{Handler: s.Handler()}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	through := &http.Transport{DialContext: l.Dial}
	k.T.Cleanup(func() {
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
	name := filepath.Join(filepath.Dir(k.Conf.Storage.Path), "secret")
	k.must(os.WriteFile(name, []byte(clientSecret+"\n"), 0o600))
	k.T.Cleanup(func() { time.Sleep(time.Minute) }) // until a request for a token has timed out
	s := &k.Conf.Service
	s.BaseURL, s.ClientID, s.ClientSecretFile = "http://127.0.0.1/api", "me", name
	s.Now, _ = s.ReadSecret()
}

// orderBy posts an order of an employee of the venue.
func (k *testDaemon) orderBy(number, employee string) {
	k.T.Helper()
	got := k.Send(fmt.Sprintf(
		`{"records":[{"id":%q,"orderNumber":%q,"checkOwnerEmployeeId":%q,"items":[{"name":"Burger"}]}]}`,
		uuid.NewString(), number, employee))
	if got != answerStored {
		k.T.Fatalf("order %s got %s", number, got)
	}
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

// hanging never answers; refusing fails at once.
var (
	hanging = roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	})
	refusing = roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, errors.New("connection refused")
	})
)

// timings are the times that a start, an answer, a ticket and a stop take, by the bubble's clock.
func (k *testDaemon) timings() string {
	var out strings.Builder
	step := func(name string, f func()) {
		began := time.Now()
		f()
		fmt.Fprintf(&out, "%s %v\n", name, time.Since(began).Round(100*time.Millisecond))
	}
	orders := func(what string) {
		had := len(k.Printers["grill"].Tickets())
		step("answer "+what, func() { k.orderBy("A1", employee(1).ID) })
		step("ticket "+what, func() {
			for out := had; out == had; out = len(k.Printers["grill"].Tickets()) {
				k.Advance(100 * time.Millisecond)
			}
		})
	}
	k.Stop()
	step("start", k.Start)
	orders("at once")
	k.Advance(time.Minute) // during the refresh
	orders("later")
	k.Advance(7 * time.Hour) // idle connections are closed
	orders("in the evening")
	step("stop", k.Stop)
	k.Start()
	step("stop of what has just begun", k.Stop)
	k.Start()
	k.Advance(2 * time.Second) // during the first request
	step("stop while it asks", k.Stop)
	k.Start()
	return out.String()
}
