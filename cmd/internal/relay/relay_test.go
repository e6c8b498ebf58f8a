package relay

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	store "ticketrail/receiver/relay"
)

func TestWhatOneRelayHasStoredEveryRelayKnowsAndTheBoxGetsItOnce(t *testing.T) {
	c := newCloud(t, 3)
	one, two := c.start(true), c.start(true)
	if status, _ := one.settled(grill, "a", "Burger"); status != http.StatusForbidden {
		t.Fatalf("a venue that nobody added is answered %d", status)
	}
	a := c.admin()
	creds := filepath.Join(c.dir, "grill.creds")
	_, change, err := a.Add(t.Context(), c.operator, store.Venue{ID: grill, Name: "Grill"}, false, creds)
	if err != nil || len(change.Stored) != 3 || len(change.Missing) > 0 {
		t.Fatalf("adding a venue: %+v, %v", change, err)
	}
	for _, r := range []*runningRelay{one, two} { // each hears of it by itself
		c.until("a venue is known without a restart", func() error {
			if status, _ := r.post(grill, "a", "Burger"); status != http.StatusOK {
				return fmt.Errorf("answer %d", status)
			}
			return nil
		})
	}
	if status, duplicate := two.settled(grill, "a", "Burger"); status != http.StatusOK || !duplicate {
		t.Errorf("the retry at another relay is answered %d, duplicate %v", status, duplicate)
	}
	if status, _ := two.settled(grill, "b", "Fish"); status != http.StatusOK {
		t.Errorf("the second order is answered %d", status)
	}
	c.wantFetched(creds, "Burger", "Fish")
	a = c.admin() // it has the venues of when it was opened
	if o, err := a.Overview(t.Context()); err != nil || len(o.Sites) != 1 || o.Sites[0].Waiting != 0 ||
		o.Sites[0].Name != "Grill" || len(o.Stream.Replicas) != 2 {
		t.Errorf("the overview is %+v, %v", o, err)
	}
	v, err := a.Find(t.Context(), "grill")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Remove(t.Context(), c.operator, v.ID); err != nil {
		t.Fatal(err)
	}
	c.until("a removed venue is refused", func() error {
		if status, _ := two.post(grill, "c", "Soup"); status != http.StatusForbidden {
			return fmt.Errorf("answer %d", status)
		}
		return nil
	})
	creds = filepath.Join(c.dir, "new.creds")
	a = c.admin()
	if _, _, err := a.Add(t.Context(), c.operator, store.Venue{ID: grill, Name: "Grill"}, false, creds); err != nil {
		t.Fatal(err)
	}
	c.until("a venue is known again", func() error {
		if status, _ := two.post(grill, "c", "Soup"); status != http.StatusOK {
			return fmt.Errorf("answer %d", status)
		}
		return nil
	})
	c.wantFetched(creds, "Soup") // and not what the box before has printed
	if err := errors.Join(one.stop(), two.stop()); err != nil {
		t.Errorf("a stop ends with %v", err)
	}
}

func TestWithoutItsServersARelayAnswers503AlsoForAVenueItDoesNotKnow(t *testing.T) {
	c := newCloud(t, 1)
	c.edit("nats:", "venues: [{ id: "+grill+", name: Grill, timezone: UTC }]\nnats:")
	r := c.start(true)
	if status, _ := r.settled(grill, "a", "Burger"); status != http.StatusOK {
		t.Fatalf("an order is answered %d", status)
	}
	c.until("it is ready", func() error {
		if status, _, text := r.get("/readyz"); status != http.StatusOK {
			return errors.New(text)
		}
		return nil
	})
	c.servers.Kill(0)
	c.until("it is not ready", func() error {
		if status, _, _ := r.get("/readyz"); status != http.StatusServiceUnavailable {
			return fmt.Errorf("readyz says %d", status)
		}
		return nil
	})
	for _, venue := range []string{grill, bar} {
		if status, _ := r.post(venue, "b", "Fish"); status != http.StatusServiceUnavailable {
			t.Errorf("an order for %s is answered %d", venue, status)
		}
	}
	late := c.start(false) // it waits for the servers
	if status, _, text := late.get("/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("before it has seen the servers it says %s", text)
	}
	if err := c.servers.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*runningRelay{r, late} {
		c.until("orders are accepted again", func() error {
			if status, _ := one.post(grill, "b", "Fish"); status != http.StatusOK {
				return fmt.Errorf("answer %d", status)
			}
			return nil
		})
		if status, _ := one.settled(bar, "b", "Fish"); status != http.StatusForbidden {
			t.Errorf("the unknown venue is answered %d", status)
		}
	}

	c.edit("Grill, timezone: UTC }", "Grill, timezone: UTC }, { id: "+bar+", name: Bar, timezone: UTC }")
	r.reload <- syscall.SIGHUP
	c.until("a reload adds a venue", func() error {
		if status, _ := r.post(bar, "b", "Fish"); status != http.StatusOK {
			return fmt.Errorf("answer %d", status)
		}
		return nil
	})
	c.edit("replicas: 1", "replicas: 9")
	r.reload <- syscall.SIGHUP
	c.until("a wrong file is refused", func() error {
		if _, _, text := r.get("/metrics"); !strings.Contains(text, "ticketrail_config_last_reload_successful 0") {
			return errors.New("the metrics say that it was loaded")
		}
		return nil
	})
	if status, _ := r.settled(bar, "c", "Fish"); status != http.StatusOK {
		t.Errorf("after a wrong file an order is answered %d", status)
	}
}

func TestACommandWaitsForServersThatAreStarting(t *testing.T) {
	c := newCloud(t, 1)
	conf := c.admin().Conf
	var err error
	for range 3 { // a server that takes longer than a command waits proves nothing
		c.servers.Kill(0)
		opened := make(chan error, 1)
		go func() {
			a, err := OpenAdmin(t.Context(), conf)
			if err == nil {
				a.Close()
			}
			opened <- err
		}()
		if err := c.servers.Start(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if err = <-opened; err == nil {
			return
		}
	}
	t.Error(err)
}

func TestAVenuesOwnSecretAndItsAddressAreForItAlone(t *testing.T) {
	c := newCloud(t, 1)
	a := c.admin()
	secret, _, err := a.Add(t.Context(), c.operator, store.Venue{ID: grill, Name: "Grill"}, true,
		filepath.Join(c.dir, "grill.creds"))
	if err != nil {
		t.Fatal(err)
	}
	a = c.admin()
	for _, wrong := range []store.Venue{{ID: "x", Name: "X"}, {ID: grill, Name: "Other"}, {ID: bar, Name: "GRILL"}} {
		if _, _, err := a.Add(t.Context(), c.operator, wrong, false, filepath.Join(c.dir, "x.creds")); err == nil {
			t.Errorf("%+v is added", wrong)
		}
	}
	r := c.start(true)
	if status, _ := r.settled(grill, "a", "Burger"); status != http.StatusForbidden && status != http.StatusNotFound {
		t.Errorf("with the shared secret its order is answered %d", status)
	}
	r.url = r.url[:strings.LastIndexByte(r.url, '/')+1] + secret
	if status, _ := r.settled(grill, "a", "Burger"); status != http.StatusOK {
		t.Errorf("with its own secret its order is answered %d", status)
	}
}
