package app

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"ticketrail/config"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
)

func TestWhatIsShownOfAProfileCanBeOverridden(t *testing.T) {
	for _, shown := range Profiles() {
		var keys map[string]any
		if err := yaml.Unmarshal([]byte(shown.YAML()), &keys); err != nil {
			t.Fatalf("%s: %v\n%s", shown.Name, err, shown.YAML())
		}
		want, _ := profile.Lookup(shown.Name)
		got, err := want.Override(keys)
		if err != nil {
			t.Errorf("%s: %v", shown.Name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", shown.Name, diff)
		}
		_, err = want.Override(map[string]any{"?": 1})
		for key := range keys {
			if !strings.Contains(err.Error(), key) {
				t.Errorf("%s is no key: %v", key, err)
			}
		}
		if n := strings.Count(err.Error(), ",") + 1; n != len(keys) {
			t.Errorf("%d keys are shown, there are %d: %v", len(keys), n, err)
		}
	}
}

func TestTheHeadOfATicketHasTheFieldsOfTheConfiguration(t *testing.T) {
	if diff := cmp.Diff(layout.HeaderFields(), config.HeaderFields()); diff != "" {
		t.Error(diff)
	}
}
