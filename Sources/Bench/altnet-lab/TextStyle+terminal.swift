import Glibc
import Simulation

extension TextStyle {
    /// What standard output can show, by what it is and by the environment (https://no-color.org).
    static var terminal: TextStyle {
        func environment(_ name: String) -> String { getenv(name).map { String(cString: $0) } ?? "" }
        return TextStyle(
            hasColour: isatty(STDOUT_FILENO) == 1 && environment("NO_COLOR").isEmpty && environment("TERM") != "dumb")
    }
}
