package edn

type kind uint8

const (
	kindNil kind = iota
	kindBool
	kindInt
	kindFloat
	kindString
	kindChar
	kindKeyword // :ok, kept without the colon
	kindSymbol
	kindList // ( ), [ ] and #{ }
	kindMap
)

var kindNames = [...]string{"nil", "a boolean", "an integer", "a number", "a string", "a character", "a keyword", "a symbol", "a list", "a map"}

func (k kind) String() string { return kindNames[k] }

// form is one EDN value and its position.
type form struct {
	kind  kind
	text  string // of strings, characters, keywords, symbols, booleans and numbers that are not integers
	int   int64
	tag   string // #tag before it; "" for none
	items []form // of lists; of maps, keys and values in turn
	pos   position
}

// position is a position in the text; both count from 1, columns in bytes.
type position struct{ line, col int }

// field returns the value of a keyword in a map.
func (f *form) field(name string) (form, bool) {
	for i := 0; i+1 < len(f.items); i += 2 {
		if f.items[i].kind == kindKeyword && f.items[i].text == name {
			return f.items[i+1], true
		}
	}
	return form{}, false
}
