package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const planted = "pl4nted-secret"

// withNotify is the good configuration with a section notify. Files in it are in dir.
func withNotify(t *testing.T, section string) (c *Config, err error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"url": "ntfy://ntfy.sh/" + planted + "\n", "empty": "\n",
		"two": "ntfy://a/" + planted + "\nntfy://b/c\n", "keys": "whsec_" + planted + "\nwhsec_x\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "t.yaml")
	if err := os.WriteFile(file, []byte(good+"\nnotify: "+section+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(file)
}

func TestARecipientsURLIsReadFromTheFileOrItsOwnFile(t *testing.T) {
	c, err := withNotify(t, `{ after: 0s, to: [ { name: a, url: "smtp://u:`+planted+`@h/" },
		{ name: b, url_file: url, about: [disk, stations] },
		{ name: c, url: "https://h/`+planted+`", secret_file: keys } ] }`)
	if err != nil {
		t.Fatal(err)
	}
	to := c.Notify.To
	if to[0].Address.Reveal() != "smtp://u:"+planted+"@h/" || to[1].Address.Reveal() != "ntfy://ntfy.sh/"+planted ||
		to[2].Keys.Reveal() != "whsec_"+planted+"\nwhsec_x" || len(c.Warnings) > 0 {
		t.Errorf("%v, %q", to, c.Warnings)
	}
	if s := fmt.Sprintf("%v %+v %#v %q", c, c, c.Notify, to); strings.Contains(s, planted) {
		t.Errorf("it is shown: %s", s)
	}
}

func TestAMistakeInARecipientIsNamedWithoutItsURL(t *testing.T) {
	for _, x := range []struct{ section, want string }{
		{`{ after: 25h }`, "notify.after: 25h is not between 0s and 24h"},
		{`{ to: [ { url: "ntfy://h/t" } ] }`, "notify.to[0].name: is missing"},
		{`{ to: [ { name: slip, url: "ntfy://h/t" } ] }`, `"slip" is already used by notify.slip`},
		{`{ to: [ { name: a, url: "ntfy://h/t" }, { name: A, url: "x://" } ] }`, `"A" is already used by notify.to[0]`},
		{`{ to: [ { name: a } ] }`, "notify.to[0] (a).url: is missing; for example ntfy://"},
		{`{ to: [ { name: a, url: "ntfy://h/PLANTED", url_file: url } ] }`, "and url_file are both set; keep one"},
		{`{ to: [ { name: a, url_file: nowhere } ] }`, "nowhere: no such file"},
		{`{ to: [ { name: a, url_file: empty } ] }`, "empty is empty"},
		{`{ to: [ { name: a, url_file: two } ] }`, "two has 2 lines; write one URL"},
		{`{ to: [ { name: a, url: "https://h/PLANTED" } ] }`, "secret_file: is missing: a webhook is signed"},
		{`{ to: [ { name: a, url: "https://h/", secret_file: nowhere } ] }`, "nowhere: no such file"},
		{`{ to: [ { name: a, url: "ntfy://h/PLANTED", secret_file: keys } ] }`, "secret_file: is only for a webhook"},
		{`{ to: [ { name: a, url: "ntfy://h/t", about: [disk, clocks] } ] }`, `about[1]: "clocks" is not one of ` +
			`stations, tickets, orders, relay, disk, ` +
			`certificate, clock, configuration and database; did you mean clock?`},
	} {
		_, err := withNotify(t, strings.ReplaceAll(x.section, "PLANTED", planted))
		if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), planted) {
			t.Errorf("%s: %v, want %q", x.section, err, x.want)
		}
	}
}

func TestAWebhookOverPlainHTTPIsAWarning(t *testing.T) {
	c, err := withNotify(t, `{ to: [ { name: a, url: "http://h.example/`+planted+`", secret_file: keys } ] }`)
	if err != nil {
		t.Fatal(err)
	}
	if s := strings.Join(c.Warnings, "\n"); !strings.Contains(s, "notify.to[0] (a).url: is plain HTTP") ||
		strings.Contains(s, planted) {
		t.Error(s)
	}
}

func TestOutcomesNeedAWebhookAndItsSecret(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(secret, []byte("whsec_QUJDQUJDQUJDQUJD\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := mustLoad(t, good+"outcomes: { url: \"https://h.example/PLANTED\", secret_file: "+secret+" }\n")
	if o := c.Outcomes; !o.Enabled() || o.URL != "" || o.Address.Reveal() != "https://h.example/PLANTED" ||
		o.Keys.Reveal() == "" || o.LateAfter != 3*time.Minute {
		t.Errorf("%+v", o)
	}
	if c := mustLoad(t, good); c.Outcomes.Enabled() {
		t.Errorf("%+v", c.Outcomes)
	}
}
