package sim

import "strings"

// menu is the dishes, one a line: the course, the printer, the name, and modifiers. Of a choice (a/b) one is taken, an
// extra (+a) sometimes; a>b is a modifier with a modifier of its own, and real payloads have three of these levels. It
// is written in many scripts: a printer has few of their letters, and the rest must be drawn.
func menu() []string {
	return strings.Split(`Drinks;BAR-1;Jalapeño Margarita;Salt rim/No salt/Half rim;+No ice;+Extra lime
Drinks;BAR-1;Flat white;Full cream/Skim/Oat/Soy/Lactose free;Regular/Large;+Extra shot;+Très chaud
Drinks;BAR-1;抹茶ラテ;Full cream/Oat/Soy;+アイス
Appetizers;KITCHEN-1;Soupe à l’oignon;+No cheese;+Extra croûtons
Appetizers;KITCHEN-1;Χωριάτικη σαλάτα;+Χωρίς κρεμμύδι;+Extra φέτα
Appetizers;KITCHEN-1;Борщ со сметаной;+Без сметаны
Appetizers;KITCHEN-1;餃子 (6個);焼き/水;+ラー油
Entrees;KITCHEN-1;Steak frites 300 g;Saignant/À point;Béarnaise/Chimichurri/No sauce;`+
		`Side salad>Dressing>Ranch/Caesar salad>Dressing>Vinaigrette, on the side;+No butter
Entrees;KITCHEN-1;宫保鸡丁;微辣/中辣/特辣;+不要花生;+No MSG
Entrees;KITCHEN-1;김치찌개;돼지고기/두부;+Extra rice
Entrees;KITCHEN-1;شاورما دجاج;خبز/رز;+بدون ثوم;+Extra pickles
Entrees;KITCHEN-1;שניצל עם צ׳יפס;Fries/Mash;+בלי לימון
Entrees;KITCHEN-1;ผัดไทยกุ้ง;ไม่เผ็ด/เผ็ดน้อย/เผ็ดมาก;+ไม่ใส่ถั่ว
Entrees;KITCHEN-1;पनीर टिक्का मसाला;Mild/Medium/Hot;Naan/Rice/Roti;+बिना प्याज
Desserts;KITCHEN-2;Crème brûlée;+2 spoons`, "\n")
}

// notes are notes on one dish.
func notes() []string {
	return []string{
		"allergy: sesame!", "one cut in half", "no peanuts 🥜", "sin gluten (celíaco)", "بدون فول سوداني", "花生过敏",
		"pour M. Lefèvre, table près de la fenêtre, qui revient dans un quart d’heure",
	}
}

// tables are names as restaurants give them: numbers, letters and places.
func tables() []string { return []string{"B10", "12", "Terrace 4", "Salón 2", "テラス 3"} }
