/// What the key file asks of the one directory it lives in, one system call each: the seam under which tests put a disk
/// that fails or loses its power at any of them.
///
/// Nothing is durable before it is synchronised: a file's data by `synchronise`, names by `synchroniseDirectory`.
protocol FileOperations {
    /// Opens a file for reading.
    /// - Returns: nil if there is none with this name.
    func open(_ name: String) throws(KeyFileError) -> Int32?
    /// Makes a new, empty file in the place of any with this name and opens it for writing.
    func create(_ name: String) throws(KeyFileError) -> Int32
    /// - Returns: how many bytes were read, 0 at the end.
    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) throws(KeyFileError) -> Int
    /// - Returns: how many bytes were written, which may be fewer than there are.
    func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(KeyFileError) -> Int
    func synchronise(_ descriptor: Int32) throws(KeyFileError)
    /// Takes access away from everybody but the owner.
    /// - Returns: whether somebody else had it.
    func restrict(_ descriptor: Int32) throws(KeyFileError) -> Bool
    func close(_ descriptor: Int32)
    /// Gives a file another name, in the place of any that has it, at one stroke.
    func rename(_ name: String, to newName: String) throws(KeyFileError)
    /// Removes a file, if there is one.
    func remove(_ name: String) throws(KeyFileError)
    func synchroniseDirectory() throws(KeyFileError)
}
