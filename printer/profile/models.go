package profile

// models is a function so that nobody can change the table.
func models() []Profile {
	return []Profile{
		{
			Name: "generic-80mm", Columns: 48, Dots: 576,
			CodePages: common(), Cutter: PartialCut,
			// Some clones cut where the paper is, without feeding the text past the blade
			// first: better a few blank lines than a cut through the last dish.
			FeedBeforeCut: 4,
			Invert:        true, Kanji: true,
		},
		{
			Name: "generic-58mm", Columns: 32, Dots: 384,
			CodePages: common(), Cutter: NoCutter, FeedBeforeCut: 4,
			Invert: true, Kanji: true,
		},
		{
			Name: "epson-tm-t88", Columns: 42, Dots: 512,
			CodePages: common(), Cutter: PartialCut, FeedBeforeCut: 1,
			Invert: true, Kanji: true,
		},
		{
			// Impact, with a black and red ribbon; the A and D models are torn by hand.
			Name: "epson-tm-u220", Columns: 42, Dots: 400,
			CodePages: common(), Cutter: NoCutter, FeedBeforeCut: 6,
			Sizing: Doubled, SmallFont: true, TwoColour: true, Kanji: true,
		},
		{
			Name: "epson-tm-u220b", Columns: 42, Dots: 400,
			CodePages: common(), Cutter: PartialCut, FeedBeforeCut: 1,
			Sizing: Doubled, SmallFont: true, TwoColour: true, Kanji: true,
		},
	}
}

// common are the tables that nearly every ESC/POS printer has, under Epson's numbers.
// CP858 is CP850 with a euro sign.
func common() []CodePage {
	return []CodePage{
		{0, "CP437"}, {16, "WPC1252"}, {19, "CP858"}, {2, "CP850"}, {18, "CP852"}, {17, "CP866"},
		{3, "CP860"}, {4, "CP863"}, {5, "CP865"},
	}
}
