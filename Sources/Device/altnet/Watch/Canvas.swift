/// Characters on a grid, each with its colour, that become lines of text.
struct Canvas {
    private struct Cell {
        var character: Character = " "
        var paint: Style.Paint?
    }

    let width: Int
    let height: Int
    private var cells: [Cell]

    init(width: Int, height: Int) {
        self.width = max(0, width)
        self.height = max(0, height)
        cells = Array(repeating: Cell(), count: self.width * self.height)
    }

    /// Puts text whose characters take one column each; what would lie outside is left out.
    mutating func put(_ text: String, column: Int, row: Int, _ paint: Style.Paint? = nil) {
        for (offset, character) in text.enumerated() {
            put(character, column: column + offset, row: row, paint)
        }
    }

    mutating func put(_ character: Character, column: Int, row: Int, _ paint: Style.Paint? = nil) {
        guard (0..<width).contains(column), (0..<height).contains(row) else { return }
        cells[row * width + column] = Cell(character: character, paint: paint)
    }

    func lines(_ style: Style) -> [String] {
        (0..<height).map { row in
            var cells = cells[row * width..<(row + 1) * width]
            while cells.last?.character == " " { cells.removeLast() }
            var line = ""
            var run = ""
            var paint: Style.Paint?
            for cell in cells {
                if cell.paint != paint {
                    line += style.paint(run, paint)
                    run = ""
                    paint = cell.paint
                }
                run.append(cell.character)
            }
            return line + style.paint(run, paint)
        }
    }
}
