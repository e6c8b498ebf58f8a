package config

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"ticketrail/deploy/assert"
)

func TestTheClientSecretIsReadAgainAndNeverShown(t *testing.T) {
	name := secretFile(t, one+"\n", 0o600)
	text := good + fmt.Sprintf("service: { base_url: \"https://a\", client_id: me, client_secret_file: %q }\n", name)
	c := mustLoad(t, text)
	assert.NoError(t, os.WriteFile(name, []byte("\n"+two+"\r\n"), 0o600))
	s, err := c.Service.ReadSecret()
	assert.True(t, err == nil && s.Reveal() == two && c.Service.Now.Reveal() == one, s, err)
	shown := fmt.Sprintf("%+v %#v", c, c.Service)
	assert.True(t, !strings.Contains(shown, one) && !strings.Contains(shown, two), "the configuration shows the secret")
	for _, bad := range []string{"", "\n", one + "\n" + two} {
		assert.NoError(t, os.WriteFile(name, []byte(bad), 0o600))
		_, err := c.Service.ReadSecret()
		_, atLoad := load(t, text)
		assert.True(t, err != nil && atLoad != nil && !strings.Contains(err.Error()+atLoad.Error(), one), bad, err,
			atLoad)
	}
}
