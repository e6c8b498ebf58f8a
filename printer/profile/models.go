package profile

import (
	_ "embed"
	"fmt"
	"sync"

	yaml "go.yaml.in/yaml/v3"
)

//go:embed models.yaml
var modelsYAML []byte

// thermalLines is how many lines of normal height a slow thermal printer prints a second: 90 mm.
const thermalLines = 20

// models is the decoded table.
var models = sync.OnceValue(func() []Profile {
	out, err := decode(modelsYAML)
	if err != nil {
		panic(fmt.Sprintf("profile: embedded models.yaml: %v", err)) // a test decodes it
	}
	return out
})

// decode reads a list of models. Keys with a safe default may be missing.
func decode(b []byte) ([]Profile, error) {
	var file struct {
		Models []map[string]any // beside tables, which has YAML anchors for code_pages
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		return nil, err
	}

	var out []Profile
	for _, m := range file.Models {
		name := fmt.Sprint(m["name"])
		delete(m, "name")

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
