package sim

// A dish is one entry of the menu. Of each of its choices one modifier is taken.
//
// Prices are sent because services send them; no ticket shows them.
type dish struct {
	name    string
	price   float64
	choices []choice
	extras  []string // modifiers; any number of them is taken
}

// A choice is a group of modifiers. The modifier that is taken may have choices itself. So
// modifiers are up to three levels deep, as in real payloads.
type choice struct {
	of    []string
	below []choice // of the modifier that is taken
}

// A course is a part of the menu, whose dishes are made at one printer's station.
type course struct {
	name    string
	printer string // as the service names it
	sort    int
	dishes  []dish
}

// one is a choice whose modifiers have no choices of their own.
func one(of ...string) choice { return choice{of: of} }

// menu is written in many scripts: a printer has few of their letters, and the rest must be drawn.
func menu() []course {
	doneness := one("Blue", "Rare", "Medium rare", "Medium", "Well done", "Saignant", "À point")
	sauce := one("Béarnaise", "Peppercorn", "Chimichurri", "No sauce")
	dressing := choice{
		of: []string{"Side salad", "Caesar salad"},
		below: []choice{
			{[]string{"Dressing"}, []choice{one("Blue cheese", "Ranch", "Vinaigrette, on the side", "None")}},
		},
	}
	side := one("Fries", "Sweet potato fries", "Mash", "Rösti", "Steamed greens")
	milk := one("Full cream", "Skim", "Oat", "Soy", "Lactose free")
	return []course{
		{"Drinks", "BAR-1", 1, []dish{
			{"Jalapeño Margarita", 19, []choice{one("Salt rim", "No salt", "Half rim")},
				[]string{"No ice", "Extra lime"}},
			{"Kölsch 0,2 l", 6.5, nil, nil},
			{"Pinot Noir 500 ml", 38, []choice{one("2 glasses", "3 glasses", "4 glasses")}, nil},
			{"Flat white", 5, []choice{milk, one("Regular", "Large")},
				[]string{"Extra shot", "Decaf", "1 sugar", "Très chaud"}},
			{"Rakı 35 cl", 42, []choice{one("Su ve buz", "Sade")}, nil},
			{"Soda", 4.5, []choice{one("Cola", "Zero", "Lemonade", "Ginger ale")}, []string{"No ice", "Kids cup"}},
			{"抹茶ラテ", 7, []choice{milk}, []string{"アイス"}},
		}},
		{"Appetizers", "KITCHEN-1", 10, []dish{
			{"Soupe à l’oignon", 12, nil, []string{"No cheese", "Extra croûtons"}},
			{"Smørrebrød med æg", 11, nil, []string{"Glutenfrit brød"}},
			{"Jalapeño poppers (6)", 13, []choice{one("Ranch", "Sweet chilli")}, []string{"Extra hot 🌶"}},
			{"Χωριάτικη σαλάτα", 14, nil, []string{"Χωρίς κρεμμύδι", "Extra φέτα"}},
			{"Борщ со сметаной", 12, nil, []string{"Без сметаны"}},
			{"餃子 (6個)", 12, []choice{one("焼き", "水")}, []string{"ラー油"}},
		}},
		{"Entrees", "KITCHEN-1", 20, []dish{
			{"Cheeseburger", 19.5, []choice{doneness, one("Fries", "Side salad", "Onion rings")},
				[]string{"No onion", "Extra pickles", "Gluten free bun", "Add bacon"}},
			{"Steak frites 300 g", 39, []choice{doneness, sauce, dressing}, []string{"No butter"}},
			{"Żurek w chlebie", 18, nil, []string{"Bez jajka"}},
			{"宫保鸡丁", 21, []choice{one("微辣", "中辣", "特辣")}, []string{"不要花生", "No MSG"}},
			{"김치찌개", 20, []choice{one("돼지고기", "두부")}, []string{"Extra rice"}},
			{"شاورما دجاج", 17, []choice{one("خبز", "رز")}, []string{"بدون ثوم", "Extra pickles"}},
			{"שניצל עם צ׳יפס", 19, []choice{side}, []string{"בלי לימון"}},
			{"ผัดไทยกุ้ง", 19, []choice{one("ไม่เผ็ด", "เผ็ดน้อย", "เผ็ดมาก")}, []string{"ไม่ใส่ถั่ว"}},
			{"पनीर टिक्का मसाला", 18, []choice{one("Mild", "Medium", "Hot"), one("Naan", "Rice", "Roti")},
				[]string{"बिना प्याज"}},
			{"Barramundi", 34, []choice{side}, []string{"Skin off", "Sauce on the side"}},
		}},
		{"Desserts", "KITCHEN-2", 40, []dish{
			{"Crème brûlée", 13, nil, []string{"2 spoons"}},
			{"Käsekuchen", 11, nil, []string{"Ohne Sahne"}},
			{"Affogato", 10, []choice{one("Frangelico", "Amaretto", "No liqueur")}, nil},
			{"Şekerpare", 9, nil, []string{"Extra kaymak"}},
		}},
	}
}

// itemNotes are notes on one dish, orderNotes on a whole order.
func itemNotes() []string {
	return []string{
		"allergy: sesame!", "one cut in half", "für das Geburtstagskind", "sauce à part, s’il vous plaît",
		"no peanuts 🥜", "sin gluten (celíaco)", "well done but NOT dry", "بدون فول سوداني",
		"€ 5 „lunch”", "share – 2 plates", "花生过敏",
		"pour M. Lefèvre, table près de la fenêtre, qui revient dans un quart d’heure",
	}
}

func orderNotes() []string {
	return []string{
		"Birthday at 8",
		"hold the mains until called",
		"VIP",
		"guests in a hurry, théâtre à 20 h",
		"high chair",
		"bereavement – no music",
	}
}

// voidReasons are what staff type when they cancel an item or have it made again.
func voidReasons() []string {
	return []string{"guest left", "entered twice", "wrong table", "86’d", "changed their mind"}
}

func refireReasons() []string { return []string{"was cold", "dropped", "wrong doneness", "hair"} }

// tables are names as restaurants give them: numbers, letters and places.
func tables() []string {
	return []string{"B10", "T4", "12", "Terrace 4", "Salón 2", "Bar 2", "Zelt 7", "テラス 3", "T7", "21"}
}

func orderTypes() []string { return []string{"Dine in", "Dine in", "Dine in", "Take away", "Delivery"} }
