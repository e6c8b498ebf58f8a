package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ticketrail/deploy/assert"
)

const planted = "pl4nted-secret"

func TestARecipientsURLIsReadFromTheFileOrItsOwnFile(t *testing.T) {
	c := mustLoad(t, good+fmt.Sprintf(`notify: { after: 0s, to: [ { name: a, url: "smtp://u:%[1]s@h/" },
		{ name: b, url_file: %[2]q, about: [disk, stations] },
		{ name: c, url: "https://h/%[1]s", secret_file: %[3]q } ] }`+"\n", planted,
		secretFile(t, "ntfy://ntfy.sh/"+planted+"\n", 0o600), secretFile(t, "whsec_"+planted+"\nwhsec_x\n", 0o600)))
	to := c.Notify.To
	assert.True(t, to[0].Address.Reveal() == "smtp://u:"+planted+"@h/" &&
		to[1].Address.Reveal() == "ntfy://ntfy.sh/"+planted && to[2].Keys.Reveal() == "whsec_"+planted+"\nwhsec_x" &&
		len(c.Warnings) == 0, to, c.Warnings)
	s := fmt.Sprintf("%v %+v %#v %q", c, c, c.Notify, to)
	assert.True(t, !strings.Contains(s, planted), "it is shown", s)
}

func TestOutcomesNeedAWebhookAndItsSecret(t *testing.T) {
	secret := secretFile(t, "whsec_QUJDQUJDQUJDQUJD\n", 0o600)
	c := mustLoad(t, good+"outcomes: { url: \"https://h.example/PLANTED\", secret_file: "+secret+" }\n")
	o := c.Outcomes
	assert.True(t, o.Enabled() && o.URL == "" && o.Address.Reveal() == "https://h.example/PLANTED" &&
		o.Keys.Reveal() != "" && o.LateAfter == 3*time.Minute, o)
	c = mustLoad(t, good)
	assert.True(t, !c.Outcomes.Enabled(), c.Outcomes)
}
