package subject

var ServeOn = serveOn
