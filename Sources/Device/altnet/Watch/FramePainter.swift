/// Turns frames into what a terminal has to be sent for them: only the lines that have changed.
struct FramePainter {
    private var shown: [String] = []
    private var size: WatchScreen.Size?

    /// - Parameter lines: at most as many as the terminal has, none wider than it is.
    mutating func paint(_ lines: [String], size: WatchScreen.Size) -> String {
        var output = ""
        if size != self.size {
            // A terminal that was resized has moved its lines about.
            output = Control.clear
            shown = []
            self.size = size
        }
        for (index, line) in lines.enumerated() where index >= shown.count || shown[index] != line {
            // Erased first: after a line that fills the terminal, the cursor stands on its last character.
            output += Control.beginning(ofLine: index + 1) + Control.eraseToEndOfLine + line
        }
        if lines.count < shown.count {
            output += Control.beginning(ofLine: lines.count + 1) + Control.eraseBelow
        }
        shown = lines
        return output
    }

    /// Has the next frame drawn as a whole.
    mutating func forget() { size = nil }
}

/// Control sequences that every terminal since the VT220 and its imitators understand (ECMA-48; xterm's private modes).
enum Control {
    static let clear = "\u{1b}[2J"
    static let eraseToEndOfLine = "\u{1b}[K"
    static let eraseBelow = "\u{1b}[J"

    /// The second screen, without a cursor, and without wrapping: no line can move the others.
    static let enter = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[?7l"
    static let leave = "\u{1b}[?7h\u{1b}[?25h\u{1b}[?1049l"

    static func beginning(ofLine line: Int) -> String { "\u{1b}[\(line);1H" }
}
