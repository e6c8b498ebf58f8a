package printer_test

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ticketrail/config"
	"ticketrail/deploy/slow"
	"ticketrail/printer"
	"ticketrail/printer/layout"
	"ticketrail/printer/profile"
	"ticketrail/printer/raster"
	"ticketrail/printer/virtual"
	"ticketrail/queue/ticket"
)

var update = flag.Bool("update", false, "write the golden files anew; then look at them")

// A menu is an order in one script.
type menu struct {
	script                              string
	venue, table, server, kind, course  string
	dish, modifier, note, long, dropped string
	font                                string // the font file, if the built-in font lacks the script
	sum                                 string // the first digits of its hash: another version draws other dots
	qr                                  bool
}

const noto = "/usr/share/fonts/truetype/noto/"

func menus() []menu {
	return []menu{
		{script: "latin", venue: "Zum Löwen – Café Ångström", table: "Gänseblümchen",
			server: "Zoë Müñoz", kind: "Für hier", course: "Entrée",
			dish: "Crème brûlée", modifier: "ohne Soße, +2,50 €", note: "niño alérgico: ¡sin nuez!",
			long:    "Straßburger Gänseleberpâté mit Žižkover Jalapeño-Soße und Œufs à la neige",
			dropped: "Smørrebrød, ½ Łosoś"},
		{script: "vietnamese", venue: "Quán Phở Hà Nội", table: "Bàn 7",
			server: "Nguyễn Thị Hường", kind: "Ăn tại chỗ", course: "Món chính",
			dish: "Phở bò tái", modifier: "ít cay, thêm hành", note: "dị ứng đậu phộng",
			long: "Bánh mì thịt nướng với đồ chua và rau mùi tươi", dropped: "Gỏi cuốn, NƯỚC MẮM ẤM"},
		{script: "greek", venue: "Ταβέρνα «Η Ακρόπολη»", table: "Αυλή 3",
			server: "Ελένη", kind: "Εδώ", course: "Κυρίως",
			dish: "Μουσακάς", modifier: "χωρίς κρεμμύδι", note: "αλλεργία στο σουσάμι",
			long: "Γεμιστές ντομάτες με ρύζι, κουκουνάρι και μαϊντανό", dropped: "ΤΖΑΤΖΊΚΙ, ψωμί"},
		{script: "cyrillic", venue: "Їдальня «Під липою»", table: "Стіл 7",
			server: "Юлія", kind: "Навынос", course: "Горячее",
			dish: "Борщ", modifier: "без чеснока, їжа ґречна", note: "аллергия на орехи",
			long: "Вареники з картоплею, цибулею та сметаною по-київськи", dropped: "Щи, ћевапчићи, ё"},
		{script: "hebrew", venue: "חומוסיית השוק", table: "מרפסת 3",
			server: "נועה", kind: "לשבת", course: "עיקריות",
			dish: "שווארמה בלאפה", modifier: "בלי בצל (2 מנות)", note: "אלרגי לשומשום!",
			long:    "שקשוקה חריפה עם גבינת עיזים ופלפלים קלויים (2 ביצים) 12.50 ₪",
			dropped: "פלאפל extra spicy"},
		{script: "arabic", venue: "مطعم الشام", table: "شرفة ٣",
			server: "ليلى", kind: "محلي", course: "أطباق رئيسية",
			dish: "شاورما دجاج", modifier: "بدون بصل (كبير)", note: "حساسية من السمسم!",
			long: "مشاوي مشكلة مع الأرز بالزعفران وسلطة الفتوش ٣ قطع", dropped: "چلو کباب 12 ريال"},
		{script: "arabic-noto", venue: "مطعم الشام", table: "شرفة ٣",
			server: "ليلى", kind: "محلي", course: "أطباق رئيسية",
			dish: "شاورما دجاج", modifier: "بدون بصل (كبير)", note: "حساسية من السمسم!",
			long: "مشاوي مشكلة مع الأرز بالزعفران وسلطة الفتوش ٣ قطع", dropped: "چلو کباب 12 ريال",
			font: noto + "NotoSansArabic-Regular.ttf", sum: "504d7407"},
		{script: "thai", venue: "ครัวคุณยาย", table: "ระเบียง 3",
			server: "สมหญิง", kind: "ทานที่นี่", course: "จานหลัก",
			dish: "ผัดไทยกุ้งสด", modifier: "ไม่เผ็ด ไม่ใส่น้ำตาล", note: "แพ้ถั่วลิสง",
			long: "แกงเขียวหวานไก่ใส่มะเขือเปราะและใบโหระพากับข้าวสวย", dropped: "ต้มยำกุ้งน้ำข้น",
			font: noto + "NotoSansThai-Regular.ttf", sum: "dfbd5ed0"},
		{script: "devanagari", venue: "शर्मा जी का ढाबा", table: "आँगन ३",
			server: "प्रिया", kind: "यहीं खाएँगे", course: "मुख्य",
			dish: "पनीर टिक्का", modifier: "बिना प्याज़, तीखा कम", note: "मूँगफली से एलर्जी",
			long: "क्षेत्रीय मसालेदार आलू गोभी की सब्ज़ी और तंदूरी रोटी", dropped: "हिन्दी र्क कृपया 2 प्लेट",
			font: noto + "NotoSansDevanagari-Regular.ttf", sum: "79a47036"},
		{script: "kana", venue: "居酒屋「さくら」", table: "座敷３", server: "ゆうこ", kind: "店内", course: "メイン",
			dish: "えび天ぷら", modifier: "わさび抜き、ｶﾞﾘ多め", note: "ピーナッツアレルギー！",
			long: "ラーメン、チャーシューと味玉のせ（スープは別の丼で）ギョーザ六個つき", dropped: "ぱりぱりキャベツ"},
		{script: "simplified", venue: "老四川饭馆", table: "包间三", server: "小红", kind: "堂食", course: "热菜",
			dish: "宫保鸡丁", modifier: "不要香菜，少辣", note: "对花生过敏！",
			long: "麻婆豆腐、水煮牛肉、夫妻肺片、担担面（少辣，不要花生）四人份套餐", dropped: "酸辣汤 2 碗"},
		{script: "traditional", venue: "臺灣小館", table: "包廂三", server: "怡君", kind: "內用", course: "熱炒",
			dish: "宮保雞丁", modifier: "不要香菜，少辣", note: "對花生過敏！",
			long: "麻婆豆腐、紅燒牛肉麵、滷肉飯（少鹽，不要蔥）四人份套餐", dropped: "蚵仔煎 2 份"},
		{script: "hangul", venue: "할머니 손맛", table: "마루 3", server: "지은", kind: "매장", course: "메인",
			dish: "비빔밥", modifier: "고추장 따로, 계란 빼고", note: "땅콩 알레르기!",
			long: "돌솥비빔밥과 해물파전, 매운 김치찌개 그리고 공기밥 두 그릇", dropped: "뚝배기 불고기, 맥주"},
		{script: "emoji", venue: "Taco 🌮 Town", table: "🌴 3",
			server: "Sam 😎", kind: "To go 🥡", course: "Mains 🍽️",
			dish: "Taco 🌶️🌶️", modifier: "no 🧅, extra 🧀", note: "🥜 ❌ allergy ⚠️",
			long: "👨‍🍳 Chef's 🍕 with 🧀🧀 and 🥓 for 👩🏽‍🤝‍👨🏻 at the 🇩🇪 table 1️⃣", dropped: "🍺 x ½ 𝓟𝓲𝔃𝔃𝓪"},
		{script: "mixed", venue: "Bar Babel 巴別 バベル", table: "Терраса 3",
			server: "Zoë & נועה", kind: "To go – ここ", course: "Κυρίως",
			dish: "Phở 牛肉 שלום", modifier: "no שום, extra سلام 2x", note: "“ohne” кинза €5 ❌",
			long:    "Crème brûlée, борщ, μουσακάς, 麻婆豆腐, すし, 비빔밥, شاورما دجاج, hummus חומוס 12.50",
			dropped: "김치 & Bœuf", qr: true},
	}
}

// order is an item with a modifier, a long one, and a void one; each call makes a new value.
func (m menu) order() ticket.Delivery {
	return ticket.Delivery{Job: 7, Station: "grill", Attempt: 1, Ticket: ticket.Ticket{
		Request: "0d9e1c52-7c1b-4d5e-8a66-1f2e3d4c5b6a", VenueName: m.venue, Number: "18", Table: "Table " + m.table,
		Server: m.server, Type: m.kind, Course: m.course, Guests: "4", Refire: true,
		Received: time.Date(2026, 11, 20, 8, 30, 0, 0, time.UTC), Zone: "Europe/Lisbon",
		Lines: []ticket.Line{
			{Quantity: "2", Name: m.dish, Refire: true, Notes: []string{m.note}},
			{Depth: 1, Quantity: "1", Name: m.modifier, Refire: true},
			{Quantity: "1", Name: m.long, Refire: true},
			{Quantity: "3", Name: m.dropped, Void: true, Refire: true},
		},
	}}
}

// drawer has the built-in font only and, if the printer prints images, the script's font. That file must be the
// one with which the pictures were made.
func (m menu) drawer(t *testing.T, model profile.Profile) *raster.Drawer {
	t.Helper()
	var o raster.Options
	if m.font != "" && model.Raster != profile.NoRaster {
		slow.Test(t, m.font)
		b, err := os.ReadFile(m.font)
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%x", sha256.Sum256(b))[:8]; sum != m.sum {
			t.Fatalf("%s is another version (%s) than that of the pictures (%s)", m.font, sum, m.sum)
		}
		o.Fonts = []string{m.font}
	}
	d, err := raster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTicketsInEveryScriptMatchTheirReviewedPictures(t *testing.T) {
	for _, m := range menus() {
		classes := []string{"generic-80mm", "epson-tm-t88", "generic-58mm", "epson-tm-u220"}
		switch m.script {
		case "simplified", "traditional":
			classes = append(classes, "xprinter-80mm") // has them as built-in characters
		case "arabic-noto":
			classes = classes[:3] // without dots a font changes nothing
		}
		for _, class := range classes {
			name := m.script + "-" + class
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				model, ok := profile.Lookup(class)
				if !ok {
					t.Fatal("no such profile")
				}
				drawer := m.drawer(t, model)
				synctest.Test(t, func(t *testing.T) { likeGolden(t, name, m.print(t, model, drawer)) })
			})
		}
	}
}

// print returns the picture of the ticket as a printer of the model prints it.
func (m menu) print(t *testing.T, model profile.Profile, drawer *raster.Drawer) *image.Paletted {
	t.Helper()
	v := virtual.New(virtual.OptionsFor(model))
	r := newHarness(t, v, v, func(_ *printer.DeviceOptions, o *printer.Options) {
		o.Profile, o.Drawer = model, drawer
		o.Layout = layout.Options{QR: m.qr, Alarms: layout.NewAlarms(config.Default().Ticket.Alarms)}
	})
	if o := r.printWith(t.Context(), r.p, m.order(), nil); o.err != nil {
		t.Fatal(o.err)
	}
	r.d.Retire() // without a cutter, the ticket ends here
	synctest.Wait()
	for _, s := range v.Problems() {
		t.Errorf("the printer recorded a problem: %s", s)
	}
	out := v.Tickets()
	if len(out) != 1 {
		t.Fatalf("%d tickets came out", len(out))
	}
	picture, err := png.Decode(bytes.NewReader(out[0].PNG()))
	if err != nil {
		t.Fatal(err)
	}
	p, ok := picture.(*image.Paletted)
	if !ok {
		t.Fatalf("the picture is a %T", picture)
	}
	return p
}

func TestATicketOfLabelsIsCutIntoThemAndProvedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, _ := profile.Lookup("generic-80mm")
		v := virtual.New(virtual.OptionsFor(model))
		r := newHarness(t, v, v, func(_ *printer.DeviceOptions, o *printer.Options) { o.Layout.Cut = layout.ByItem })
		o := r.printWith(t.Context(), r.p, menus()[0].order(), nil)
		synctest.Wait()
		labels := v.Tickets()
		if o.kind() != "confirmed" || o.began != 1 || len(labels) != 3 {
			t.Fatalf("%d labels, begun %d times, %s: %v", len(labels), o.began, o.kind(), o.err)
		}
		for i, l := range labels {
			if want := fmt.Sprintf("%d/3", i+1); l.End != virtual.Cut || !strings.Contains(l.Text, want) {
				t.Errorf("label %s ends with %v:\n%s", want, l.End, l.Text)
			}
		}
	})
}

// likeGolden compares the dots with those of a picture that was reviewed.
func likeGolden(t *testing.T, name string, got *image.Paletted) {
	t.Helper()
	path := filepath.Join("testdata", "pictures", name+".png")
	if *update {
		var b bytes.Buffer
		e := png.Encoder{CompressionLevel: png.BestCompression}
		if err := e.Encode(&b, got); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; make it with -update, and look at it", err)
	}
	decoded, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	want, ok := decoded.(*image.Paletted)
	if ok && want.Rect == got.Rect && bytes.Equal(want.Pix, got.Pix) {
		return
	}
	var out bytes.Buffer
	_ = png.Encode(&out, got)
	now := filepath.Join(t.ArtifactDir(), name+".png")
	if err := os.WriteFile(now, out.Bytes(), 0o644); err != nil {
		t.Error(err)
	}
	t.Errorf("%s is not what comes out now, which is in %s (with -artifacts)", path, now)
}
