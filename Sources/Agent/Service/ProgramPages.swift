import CMemory

/// The pages of the program's own file that are mapped into memory: its instructions and constants.
///
/// Where one is used, the kernel maps the 64 kB around it, and all of it stays: of the start, and of every request that came once.
/// What is let go and used again is mapped again, from the copy of the file that the kernel keeps.
enum ProgramPages {
    /// Lets them go once the start is over, and every hour.
    static func keepFew() async {
        var pause = Duration.seconds(30)
        while (try? await Task.sleep(for: pause)) != nil, letGo() { pause = .seconds(3600) }
    }

    /// - Returns: false where the program does not know where its file is mapped.
    static func letGo() -> Bool { memory_unmap_program() == 0 }
}
