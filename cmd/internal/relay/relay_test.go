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

func TestWithoutItsServersARelayAnswers503AlsoForAVenueItDoesNotKnow(t *testing.T) {
	c := newCloud(t, 1)
	c.edit("nats:", "venues: [{ id: "+grill+", name: Grill, timezone: UTC }]\nnats:")
	r := c.start(true)
	if status := r.settled(grill, "a", "Burger"); status != http.StatusOK {
		t.Fatalf("an order is answered %d", status)
	}
	c.until("it is ready", func() error {
		if status, text := r.get("/readyz"); status != http.StatusOK {
			return errors.New(text)
		}
		return nil
	})
	c.servers.Kill(0)
	c.until("it is not ready", func() error {
		if status, _ := r.get("/readyz"); status != http.StatusServiceUnavailable {
			return fmt.Errorf("readyz says %d", status)
		}
		return nil
	})
	for _, venue := range []string{grill, bar} {
		if status := r.post(venue, "b", "Fish"); status != http.StatusServiceUnavailable {
			t.Errorf("an order for %s is answered %d", venue, status)
		}
	}
	late := c.start(false) // it waits for the servers
	if status, text := late.get("/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("before it has seen the servers it says %s", text)
	}
	if err := c.servers.Start(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*runningRelay{r, late} {
		c.until("orders are accepted again", func() error {
			if status := one.post(grill, "b", "Fish"); status != http.StatusOK {
				return fmt.Errorf("answer %d", status)
			}
			return nil
		})
		if status := one.settled(bar, "b", "Fish"); status != http.StatusForbidden {
			t.Errorf("the unknown venue is answered %d", status)
		}
	}

	c.edit("Grill, timezone: UTC }", "Grill, timezone: UTC }, { id: "+bar+", name: Bar, timezone: UTC }")
	r.reload <- syscall.SIGHUP
	c.until("a reload adds a venue", func() error {
		if status := r.post(bar, "b", "Fish"); status != http.StatusOK {
			return fmt.Errorf("answer %d", status)
		}
		return nil
	})
	c.edit("replicas: 1", "replicas: 9")
	r.reload <- syscall.SIGHUP
	c.until("a wrong file is refused", func() error {
		if _, text := r.get("/metrics"); !strings.Contains(text, "ticketrail_config_last_reload_successful 0") {
			return errors.New("the metrics say that it was loaded")
		}
		return nil
	})
	if status := r.settled(bar, "c", "Fish"); status != http.StatusOK {
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
	if status := r.settled(grill, "a", "Burger"); status != http.StatusForbidden && status != http.StatusNotFound {
		t.Errorf("with the shared secret its order is answered %d", status)
	}
	r.url = r.url[:strings.LastIndexByte(r.url, '/')+1] + secret
	if status := r.settled(grill, "a", "Burger"); status != http.StatusOK {
		t.Errorf("with its own secret its order is answered %d", status)
	}
}
