package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// withService is a configuration whose client secret is one, with more keys of the service.
func withService(t *testing.T, more string) string {
	t.Helper()
	return good + fmt.Sprintf("service: { base_url: \"https://api.example.com/api\", client_id: me, "+
		"client_secret_file: %q%s }\n", secretFile(t, one+"\n", 0o600), more)
}

func TestTheServiceIsUsedIfURLAndClientAreSet(t *testing.T) {
	c := mustLoad(t, withService(t, ""))
	if !c.Service.Enabled() || c.Service.Secret.Reveal() != one || len(c.Warnings) != 0 {
		t.Errorf("%+v, %v", c.Service, c.Warnings)
	}
	if mustLoad(t, good).Service.Enabled() {
		t.Error("it is used without an address")
	}
}

func TestAnUnusableServiceIsRefused(t *testing.T) {
	for more, want := range map[string]string{
		"{ base_url: \"https://a\" }": "service.client_id: is missing; base_url, client_id and " +
			"client_secret_file are required together",
		"{ base_url: \"https://a\", client_id: me }": "service.client_secret_file: is missing; base_url, " +
			"client_id and client_secret_file are required together",
		"{ client_id: me }": "service.base_url: is missing; base_url, client_id and client_secret_file are " +
			"required together",
		"{ base_url: api.example.com }": `service.base_url: "api.example.com" is not a URL such as ` +
			`https://api.example.com`,
		"{ base_url: \"https://\" }":               `service.base_url: "https://" is not a URL`,
		"{ base_url: \"ftp://a\" }":                `service.base_url: "ftp://a" is not a URL`,
		"{ base_url: \"https://a/?b\" }":           "service.base_url: has a query or a fragment",
		"{ base_url: \"https://me:hunter2@a\" }":   "service.base_url: contains a user name or password",
		"{ base_url: \"https://me:hunter2@a:x\" }": "service.base_url: contains a user name or password",
		"{ base_url: \"me:hunter2@a\" }":           "service.base_url: contains a user name or password",
		"{ base_url: \"https:/me:hunter2@a\" }":    "service.base_url: contains a user name or password",
		"{ base_url: \"http://api.example.com\" }": `service.base_url: "http://api.example.com" is plain HTTP`,
		"{ base_url: \"http://192.168.1.9\" }":     "service.base_url: ",
		"{ client_id: \" me\" }":                   `service.client_id: " me" begins or ends with a space`,
		"{ client_secret_file: /gone }":            "service.client_secret_file: /gone: no such file",
		"{ timeout: 61s }":                         "service.timeout: 1m1s is more than 1m",
		"{ refresh: 1m }":                          "service.refresh: 1m is less than 10m",
		"{ token: { path: oauth } }":               `service.token.path: "oauth" is not a plain path below base_url`,
		"{ me: { path: \"\" } }":                   `service.me.path: "" is not a plain path below base_url`,
		"{ labor: { prefix: api/ } }":              `service.labor.prefix: "api/" is not a plain path below base_url`,
		"{ token: { venue_param: client_id } }": `service.token.venue_param: "client_id" is another parameter of ` +
			`this request`,
		"{ token: { venue_param: \"\" } }": `service.token.venue_param: "" is not a valid parameter name`,
		"{ token: { auth_style: head } }":  `service.token.auth_style: "head" is not one of params and header`,
		"{ token: { renew_before: 15m } }": "service.token.renew_before: 15m is more than 10m; a token lives for 15m",
		"{ token: { scopes: [\"a b\"] } }": `service.token.scopes[0]: "a b" is not a scope`,
		"{ employees: { limit: -1 } }":     "service.employees.limit: -1 is not between 0 and 10000",
		"{ employees: { cursor: \"a..b\" } }": `service.employees.cursor: "a..b" is not a field or header of a ` +
			`response`,
		"{ employees: { cursor: \"header:\" } }": `service.employees.cursor: "header:" is not a field or header ` +
			`of a response`,
		"{ payroll: { venue_param: limit } }": `service.payroll.venue_param: "limit" is another parameter of ` +
			`this request`,
	} {
		_, err := load(t, good+"service: "+more+"\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %v, want %s", more, err, want)
		}
		if strings.Contains(fmt.Sprint(err), "hunter2") {
			t.Errorf("%v shows a password", err)
		}
	}
}

func TestPlainHTTPToTheServiceIsForLoopbackUnlessInsecureIsSet(t *testing.T) {
	for address, insecure := range map[string]bool{
		"http://127.0.0.1:8090/api": false, "http://[::1]": false, "http://localhost:1": false,
		"http://Localhost":   false,
		"http://192.168.1.9": true, "http://api.example.com": true, "http://localhost.example.com": true,
		"http://127.0.0.1.example.com": true,
	} {
		text := strings.Replace(withService(t, ""), "https://api.example.com/api", address, 1)
		if _, err := load(t, text); (err != nil) != insecure {
			t.Errorf("%s: %v", address, err)
		}
		mustLoad(t, strings.Replace(text, "client_id: me", "client_id: me, insecure: true", 1))
	}
}

func TestTheClientSecretIsReadAgainAndNeverShown(t *testing.T) {
	name := secretFile(t, one+"\n", 0o600)
	text := good + fmt.Sprintf("service: { base_url: \"https://a\", client_id: me, client_secret_file: %q }\n", name)
	c := mustLoad(t, text)
	if err := os.WriteFile(name, []byte("\n"+two+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := c.Service.ReadSecret(); err != nil || s.Reveal() != two || c.Service.Secret.Reveal() != one {
		t.Errorf("%v, %v", s, err)
	}
	if shown := fmt.Sprintf("%+v %#v", c, c.Service); strings.Contains(shown, one) || strings.Contains(shown, two) {
		t.Error("the configuration shows the secret")
	}
	for _, bad := range []string{"", "\n", one + "\n" + two} {
		if err := os.WriteFile(name, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := c.Service.ReadSecret()
		_, atLoad := load(t, text)
		if err == nil || atLoad == nil || strings.Contains(err.Error()+atLoad.Error(), one) {
			t.Errorf("%q: %v, %v", bad, err, atLoad)
		}
	}
}
