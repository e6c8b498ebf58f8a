package profile

import (
	_ "embed"
	"errors"
	"fmt"
	"sync"

	yaml "go.yaml.in/yaml/v3"
)

//go:embed models.yaml
var modelsYAML []byte

// thermalLines is how many lines of normal height a slow thermal printer prints a second: 90 mm.
const thermalLines = 20

// models is the decoded table. It is shared, so exported functions return copies.
var models = sync.OnceValue(func() []Profile {
	out, err := decode(modelsYAML)
	if err != nil {
		panic(fmt.Sprintf("profile: embedded models.yaml: %v", err)) // a test decodes it
	}
	return out
})

// decode reads a list of models. Each has a name and sets every key, except those whose default is
// "none", false, scaled, auto or the speed of a slow thermal printer. A key with a default may be missing,
// because "none" is the safe choice; a missing width or feed has none.
func decode(b []byte) ([]Profile, error) {
	var file struct {
		Tables map[string]any   `yaml:"tables"` // YAML anchors for code_pages
		Models []map[string]any `yaml:"models"`
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		return nil, err
	}

	if len(file.Models) == 0 {
		return nil, errors.New("no models")
	}

	seen := map[string]bool{}
	var out []Profile
	for i, m := range file.Models {
		name, _ := m["name"].(string)
		if name == "" || seen[name] {
			return nil, fmt.Errorf("models[%d]: name: %v is missing or already used", i, m["name"])
		}
		seen[name] = true
		delete(m, "name")

		for _, k := range []string{"about", "columns", "dots", "code_pages", "cutter", "feed_before_cut"} {
			if _, ok := m[k]; !ok {
				return nil, fmt.Errorf("%s: %s: missing", name, k)
			}
		}

		profile, err := Profile{
			Name: name, TwoByte: NoTwoByte, Sizing: Scaled, Raster: NoRaster, QR: NoQR, Buzzer: NoBuzzer,
			Confirm: Auto, LinesPerSecond: thermalLines,
		}.Override(m)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}

		out = append(out, profile)
	}
	return out, nil
}
