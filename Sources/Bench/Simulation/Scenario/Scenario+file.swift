#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension Scenario {
    /// The scenario that a file's bytes describe (`Docs/simulation.md`).
    /// - Parameter file: What errors call it.
    public init(parsing bytes: some Collection<UInt8>, name: String, file: String) throws(ScenarioError) {
        self = try ScenarioParser.parse(bytes, name: name, file: file)
    }

    /// The scenario in the file at `path`, called as the file without its ending.
    public init(contentsOf path: String) throws(ScenarioError) {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let ending = ScenarioLibrary.fileEnding
        try self.init(
            parsing: try Self.bytes(of: path),
            name: name.hasSuffix(ending) ? String(name.dropLast(ending.count)) : name, file: path)
    }

    /// At most one byte more than is allowed, whatever the file is.
    private static func bytes(of path: String) throws(ScenarioError) -> [UInt8] {
        let limit = ScenarioParser.sizeLimit + 1
        guard let file = fopen(path, "rb") else { throw unreadable(path) }
        defer { fclose(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = fread(buffer.baseAddress, 1, limit, file)
        }
        guard ferror(file) == 0 else { throw unreadable(path) }
        return bytes
    }

    private static func unreadable(_ path: String) -> ScenarioError {
        let reason = String(cString: strerror(errno))
        return ScenarioError(file: path, line: nil, expected: "a file that can be read", found: "an error: \(reason)")
    }
}
