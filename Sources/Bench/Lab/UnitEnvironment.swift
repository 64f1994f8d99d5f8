import FoundationEssentials

/// What the package's unit sets for the agent's C library, in the sources that this was built from: memory on a board is used
/// with these settings.
enum UnitEnvironment {
    /// Read once, because a scenario's time goes on meanwhile.
    static let memory: [String: String] = {
        let unit = (try? String(contentsOfFile: Lab.checkout + "/board/systemd/altnet.service", encoding: .utf8)) ?? ""
        return memory(in: unit)
    }()

    /// - Parameter unit: the text of a unit (systemd.unit(5)).
    static func memory(in unit: String) -> [String: String] {
        let lines = unit.split(separator: "\n").filter { $0.hasPrefix("Environment=") }
        let variables = lines.flatMap { $0.dropFirst("Environment=".count).split(separator: " ") }.compactMap {
            variable -> (String, String)? in
            guard let equals = variable.firstIndex(of: "="), isOfMemory(variable[..<equals]) else { return nil }
            return (String(variable[..<equals]), String(variable[variable.index(after: equals)...]))
        }
        return Dictionary(variables) { $1 }
    }

    private static func isOfMemory(_ name: Substring) -> Bool { name.hasPrefix("MALLOC_") || name == "GLIBC_TUNABLES" }
}
