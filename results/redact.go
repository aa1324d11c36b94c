package results

import (
	"net/url"
	"strings"
)

// redact replaces the passwords of all URLs in a command line, also in comma-separated lists; what
// may have one and does not parse, as a whole.
func redact(argv []string) []string {
	out := make([]string, len(argv))
	for i, arg := range argv {
		if out[i] = arg; !strings.Contains(arg, "://") {
			continue
		}
		flag, value := "", arg
		if name, rest, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			flag, value = name+"=", rest
		}
		parts := strings.Split(value, ",")
		for i, part := range parts {
			parts[i] = redactURL(part)
		}
		out[i] = flag + strings.Join(parts, ",")
	}
	return out
}

func redactURL(text string) string {
	if !strings.Contains(text, "@") && !strings.Contains(text, "?") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return "REDACTED"
	}
	if _, ok := u.User.Password(); ok {
		u.User = url.UserPassword(u.User.Username(), "REDACTED")
	}
	query := u.Query()
	for name := range query {
		if strings.Contains(strings.ToLower(name), "pass") {
			query.Set(name, "REDACTED")
			u.RawQuery = query.Encode()
		}
	}
	return u.String()
}

// CommandLine returns a command line quoted for a shell, with passwords redacted.
func CommandLine(argv []string) string {
	words := redact(argv)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n'\"\\$`*?[]{}()<>|&;!#~") {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
