package app

import (
	"ticketrail/config"
	"ticketrail/printer/raster"
)

// newDrawer opens the fonts of a configuration, or those installed on this box. One that
// cannot be read is worth a warning and no more: tickets print with the others.
func newDrawer(conf *config.Config) (d *raster.Drawer, warnings []string) {
	fonts := conf.Fonts
	if len(fonts) == 0 {
		fonts = raster.Installed()
	}
	d, err := raster.New(raster.Options{Fonts: fonts})
	if err != nil {
		for _, e := range flatten(err) {
			warnings = append(warnings, "fonts: "+e.Error())
		}
	}
	return d, warnings
}
