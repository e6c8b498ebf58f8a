package sim

import "strings"

// menu is the dishes, one a line: the course, the printer, the name, and modifiers. Of a choice (a/b) one is taken, an
// extra (+a) sometimes; a>b is a modifier with a modifier of its own, and real payloads have three of these levels. It
// is written in many scripts: a printer has few of their letters, and the rest must be drawn.
func menu() []string {
	return strings.Split(`Drinks;BAR-1;Jalapeño Margarita;Salt rim/No salt/Half rim;+No ice;+Extra lime
Drinks;BAR-1;Kölsch 0,2 l
Drinks;BAR-1;Pinot Noir 500 ml;2 glasses/3 glasses/4 glasses
Drinks;BAR-1;Flat white;Full cream/Skim/Oat/Soy/Lactose free;Regular/Large;+Extra shot;+Très chaud
Drinks;BAR-1;Rakı 35 cl;Su ve buz/Sade
Drinks;BAR-1;抹茶ラテ;Full cream/Oat/Soy;+アイス
Appetizers;KITCHEN-1;Soupe à l’oignon;+No cheese;+Extra croûtons
Appetizers;KITCHEN-1;Smørrebrød med æg;+Glutenfrit brød
Appetizers;KITCHEN-1;Jalapeño poppers (6);Ranch/Sweet chilli;+Extra hot 🌶
Appetizers;KITCHEN-1;Χωριάτικη σαλάτα;+Χωρίς κρεμμύδι;+Extra φέτα
Appetizers;KITCHEN-1;Борщ со сметаной;+Без сметаны
Appetizers;KITCHEN-1;餃子 (6個);焼き/水;+ラー油
Entrees;KITCHEN-1;Cheeseburger;Blue/Rare/Medium/Well done;Fries/Side salad/Rösti;+No onion;+Gluten free bun
Entrees;KITCHEN-1;Steak frites 300 g;Saignant/À point;Béarnaise/Chimichurri/No sauce;`+
		`Side salad>Dressing>Ranch/Caesar salad>Dressing>Vinaigrette, on the side;+No butter
Entrees;KITCHEN-1;Żurek w chlebie;+Bez jajka
Entrees;KITCHEN-1;宫保鸡丁;微辣/中辣/特辣;+不要花生;+No MSG
Entrees;KITCHEN-1;김치찌개;돼지고기/두부;+Extra rice
Entrees;KITCHEN-1;شاورما دجاج;خبز/رز;+بدون ثوم;+Extra pickles
Entrees;KITCHEN-1;שניצל עם צ׳יפס;Fries/Mash;+בלי לימון
Entrees;KITCHEN-1;ผัดไทยกุ้ง;ไม่เผ็ด/เผ็ดน้อย/เผ็ดมาก;+ไม่ใส่ถั่ว
Entrees;KITCHEN-1;पनीर टिक्का मसाला;Mild/Medium/Hot;Naan/Rice/Roti;+बिना प्याज
Entrees;KITCHEN-1;Barramundi;Fries/Steamed greens;+Skin off;+Sauce on the side
Desserts;KITCHEN-2;Crème brûlée;+2 spoons
Desserts;KITCHEN-2;Käsekuchen;+Ohne Sahne
Desserts;KITCHEN-2;Şekerpare;+Extra kaymak`, "\n")
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
	return []string{"Birthday at 8", "hold the mains until called", "VIP", "guests in a hurry, théâtre à 20 h"}
}

// tables are names as restaurants give them: numbers, letters and places.
func tables() []string {
	return []string{"B10", "T4", "12", "Terrace 4", "Salón 2", "Bar 2", "Zelt 7", "テラス 3", "T7", "21"}
}
