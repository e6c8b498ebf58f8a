package doctor

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ticketrail/cmd/internal/finding"
	"ticketrail/config"
	"ticketrail/deploy/assert"
)

func TestTheAddressOfEachVenueIsAsked(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		code := "method_not_allowed"
		if strings.HasSuffix(r.URL.Path, "beach") {
			code = "not_found"
		}
		_, _ = io.WriteString(w, `{"status":"ERROR","error":{"code":"`+code+`","message":"x"}}`)
	}))
	defer s.Close()
	c := config.Default()
	c.Receiver.ExternalURL, c.Receiver.Path = s.URL, "/hook"
	c.Venues = []config.Venue{{Name: "Harbour Grill"}, {Name: "Cellar"},
		{Name: "Beach", Secrets: []config.Secret{config.NewSecret("beach"), config.NewSecret("old")}},
		{Name: "Hill", Secrets: []config.Secret{config.NewSecret("hill")}}}
	found := WebhookFindings(t.Context(), &c)
	assert.True(t, slices.Equal(asked, []string{"/hook", "/hook/beach", "/hook/hill"}), asked)
	want := []finding.Finding{
		{Level: finding.OK, Subject: "webhook", Text: s.URL + " leads here"},
		{ID: "webhook/wrong_path/Beach", Level: finding.Fail, Subject: "webhook",
			Text: "its address leads to ticketrail, but not to the webhook", Detail: s.URL + " for Beach",
			Do: "the proxy or tunnel must pass the path on as it is; two boxes at one address are also possible"},
		{Level: finding.OK, Subject: "webhook", Text: s.URL + " leads here for Hill"},
	}
	diff := cmp.Diff(want, found)
	assert.True(t, diff == "", diff)
	for _, v := range c.Venues {
		at, _ := WebhookAddress(&c, v)
		assert.True(t, at == s.URL+"/PATH", v.Name, at)
	}
}
