package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTheClientSecretIsReadAgainAndNeverShown(t *testing.T) {
	name := secretFile(t, one+"\n", 0o600)
	text := good + fmt.Sprintf("service: { base_url: \"https://a\", client_id: me, client_secret_file: %q }\n", name)
	c := mustLoad(t, text)
	must(t, os.WriteFile(name, []byte("\n"+two+"\r\n"), 0o600))
	if s, err := c.Service.ReadSecret(); err != nil || s.Reveal() != two || c.Service.Now.Reveal() != one {
		t.Errorf("%v, %v", s, err)
	}
	if shown := fmt.Sprintf("%+v %#v", c, c.Service); strings.Contains(shown, one) || strings.Contains(shown, two) {
		t.Error("the configuration shows the secret")
	}
	for _, bad := range []string{"", "\n", one + "\n" + two} {
		must(t, os.WriteFile(name, []byte(bad), 0o600))
		_, err := c.Service.ReadSecret()
		_, atLoad := load(t, text)
		if err == nil || atLoad == nil || strings.Contains(err.Error()+atLoad.Error(), one) {
			t.Errorf("%q: %v, %v", bad, err, atLoad)
		}
	}
}
